package performer

import (
	"errors"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/performer/internal/linear"
	"github.com/seed-feabd252/randfeat/rff"
)

// LinearOptions selects what linear attention computes. The zero value is bidirectional, normalised
// attention.
type LinearOptions struct {
	// Causal lets query i see the keys j ≤ i only. The numbers of queries and keys must be equal
	// then.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the output is A·V with A_ij =
	// φ_Q(q_i)ᵀφ_K(k_j).
	Unnormalised bool
}

// Linear is linear attention [Katharopoulos et al. 2020]: with weights A_ij = φ_Q(q_i)ᵀφ_K(k_j),
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij
//
// is computed as φ_Q(q_i)ᵀ(Σ_j φ_K(k_j) v_jᵀ). With positive random features of the softmax kernel
// a Linear is the attention of the Performer [Choromanski et al. 2021]. [NewLinear] makes a Linear.
// Goroutines may share a Linear. Two calls of NewLinear return two Linears that differ.
//
// # Forward
//
// With m features Forward takes O((Lq+Lk)·m·(d+dv)) time, and O(m·dv) memory beyond dst whatever
// the lengths are. dst may be exactly q, k or v where its shape allows, or disjoint from all of
// them.
//
// With maps that are LogMaps a normalised row is an average of values, to rounding, wherever
// log-features are numbers of T, whatever their size is. Features of the softmax and the Gaussian
// kernel are zero at a point whose ‖x‖² is beyond the range of T. Norms beyond about 10¹⁹ in
// float32, and 10¹⁵⁴ in float64, have such squares. A key beyond has the weight zero, and a query
// beyond sees weights of zero only.
//
// If there are keys but every weight of a row is exactly zero, which takes features that are zero,
// the normalised row is 0/0 = NaN and the unnormalised row is zero. Maps that are not LogMaps may
// have denominators that are zero or negative. The row is then the result of the division, which
// may be ±Inf or NaN. A NaN or Inf in q, k or v reaches every row that depends on it.
//
// # Backward
//
// The maps count as constants. Backward takes about three times as long as Forward, and memory
// beyond the gradients that does not depend on the lengths.
//
// Gradients are the derivatives of Forward at any size of log-features. If one key has all of the
// weight, gradients are zero except for rounding, which the derivatives of log-features multiply.
// Causal, normalised attention computes the tokens up to the first log-feature beyond ±9·10⁷ twice.
// It then keeps 24 bytes for every growth of a reference until Backward returns: up to 24·L·m bytes
// if every key exceeds all earlier keys in all features.
//
// NaN and Inf reach every gradient that depends on them. In causal attention dq_i depends on rows
// up to i only. dk_j and dv_j depend on the rows from j on and, when normalised, through
// denominators on earlier rows. If a row of Forward is 0/0, all gradients that depend on the row
// are NaN. Gradients beyond the range of T are ±Inf, or NaN if they are sums of such numbers.
// Products of values and dout must be in the range of T.
//
// CanBackward returns an error unless both maps are [rff.Differentiable], or
// [rff.DifferentiableLog] if the attention uses logarithms of features.
//
// # State
//
// NewState returns an error if d is not the dimension of the maps, if dv is below 1, or if the sums
// take more memory than the machine has.
type Linear[T dense.Float] struct{ Batch[T] }

// NewLinear returns linear attention with the features φ_Q = phi of queries and φ_K =
// [rff.Keys](phi) of keys, so that φ_Q(q)ᵀφ_K(k) estimates phi.Kernel(). φ_K is phi unless phi is
// [rff.Paired], as the asymmetric estimators rff.SADERF and rff.ADERF are.
//
// If both maps are [rff.LogMap]s, attention uses the logarithms of the features and neither
// overflows nor underflows. Otherwise attention uses the features.
//
// NewLinear returns an error if phi or its Keys is nil, or if the two maps differ in the dimension
// of their points or in the number of their features.
func NewLinear[T dense.Float](phi rff.Map[T], opts LinearOptions) (Linear[T], error) {
	if phi == nil {
		return Linear[T]{}, errors.New("performer: phi is nil")
	}
	b, err := door.Choose[T, Batch[T]](linear32, linear64, linearArgs{phi, opts})
	return Linear[T]{b}, err
}

// linearArgs has a map, of features of float32 or float64, and options.
type linearArgs struct {
	phi  any
	opts LinearOptions
}

//go:noinline
func linear32(args any) (any, error) { return newLinear[float32](args.(linearArgs)) }

//go:noinline
func linear64(args any) (any, error) { return newLinear[float64](args.(linearArgs)) }

func newLinear[T dense.Float](args linearArgs) (Batch[T], error) {
	phi := args.phi.(rff.Map[T])
	a, err := linear.New(phi, rff.Keys(phi), linear.Options(args.opts))
	if err != nil {
		return Batch[T]{}, err
	}
	return single[T](a), nil
}
