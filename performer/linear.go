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
	// Causal lets query i see the keys j ≤ i only, for as many queries as keys.
	Causal bool

	// Unnormalised leaves out the division by the sum of the weights: the output is A·V with A_ij =
	// φ_Q(q_i)ᵀφ_K(k_j).
	Unnormalised bool
}

// Linear is linear attention [Katharopoulos et al. 2020]. The output of query i is
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = φ_Q(q_i)ᵀφ_K(k_j),
//
// computed as φ_Q(q_i)ᵀ(Σ_j φ_K(k_j) v_jᵀ) / φ_Q(q_i)ᵀ(Σ_j φ_K(k_j)). With positive random features
// of the softmax kernel a Linear is the attention of the Performer [Choromanski et al. 2021].
// Goroutines may share a Linear. Two calls of [NewLinear] return two Linears that differ.
//
// With m features Forward takes O((Lq+Lk)·m·(d+dv)) time, and O(m·dv) memory beyond dst. Backward
// takes about three times as long, and memory beyond the gradients that does not depend on the
// lengths. dst may be exactly q, k or v where its shape allows, or disjoint from all of them.
//
// With maps that are [rff.LogMap]s a normalised row is an average of values, to rounding, wherever
// log-features are numbers of T. With other maps a denominator may be zero or negative, and the row
// is the result of the division. If there are keys, but every weight of a row is exactly zero, the
// normalised row is 0/0 = NaN and the unnormalised row is zero. NaN and Inf in q, k, v or dout
// reach every row and every gradient that depends on them. docs/overflow.md of this module has
// more.
//
// Backward takes the maps as constants. Products of values and dout must be in the range of T.
// CanBackward returns an error unless both maps are [rff.Differentiable], or
// [rff.DifferentiableLog] if the attention uses logarithms of features. NewState returns an error
// if d is not the dimension of the maps, if dv is below 1, or if the sums take more memory than the
// machine has.
type Linear[T dense.Float] struct{ Batch[T] }

// NewLinear returns linear attention with the features φ_Q = phi of queries and φ_K =
// [rff.Keys](phi) of keys, so that φ_Q(q)ᵀφ_K(k) estimates phi.Kernel(). φ_K is phi unless phi is
// [rff.Paired], as rff.SADERF and rff.ADERF are. If φ_Q and φ_K are [rff.LogMap]s, attention uses
// the logarithms of the features and neither overflows nor underflows. Otherwise attention uses the
// features.
//
// NewLinear returns an error if phi or rff.Keys(phi) is nil, or if φ_Q and φ_K differ in the
// dimension of their points or in the number of their features.
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
