package performer

import (
	"errors"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/performer/internal/linear"
	"github.com/seed-feabd252/randfeat/rff"
)

// LinearOptions says whether linear attention is causal. The zero value of LinearOptions is
// bidirectional attention. Package recurrence has causal linear attention without the division by
// the sum of the weights.
type LinearOptions struct {
	// Causal lets query i see the keys j ≤ i only, if there are as many queries as keys.
	Causal bool
}

// Linear is linear attention [Katharopoulos et al. 2020], in which query i gives key j the weight
// φ_Q(q_i)ᵀφ_K(k_j) with feature maps φ_Q of queries and φ_K of keys:
//
//	out_i = Σ_j A_ij v_j / Σ_j A_ij,  A_ij = φ_Q(q_i)ᵀφ_K(k_j).
//
// With positive random features of the softmax kernel a Linear is the attention of the Performer
// [Choromanski et al. 2021]. Goroutines may share a Linear. [NewBatch] treats the results of two
// calls of [NewLinear] as different attentions, even if the arguments were equal. For Lq queries
// and Lk keys of dimension d, values of dimension dv and m features, Forward takes
// O((Lq+Lk)·m·(d+dv)) time, and O(m·dv) memory besides dst. The matrix dst of Forward may be q, k
// or v itself where shapes allow, or disjoint from all three.
//
// With feature maps that are [rff.LogMap]s an output is a weighted average of values, to rounding,
// unless the logarithm of a feature overflows the type T. With feature maps that are not
// [rff.LogMap]s the sum of the weights of a query, by which the output is divided, may be zero or
// negative. If there are keys, but every weight of a query is exactly zero, the output is 0/0 =
// NaN. NaN and Inf in q, k, v or dout reach every dependent output and gradient.
//
// Backward takes about three times as long as Forward, and needs memory besides the gradients that
// does not depend on the numbers of queries and keys. Backward returns gradients with respect to q,
// k and v, not to parameters of the feature maps. Backward is accurate only if products of elements
// of v and dout do not overflow the type T. CanBackward returns an error unless the feature maps of
// queries and of keys are [rff.Differentiable], or [rff.DifferentiableLog] if the attention uses
// logarithms of features.
type Linear[T dense.Float] struct{ Batch[T] }

// NewLinear returns linear attention with the features φ_Q = phi of queries q and φ_K =
// [rff.Keys](phi) of keys k, so that φ_Q(q)ᵀφ_K(k) estimates the kernel phi.Kernel() of q and k.
// The feature map φ_K of keys is phi unless phi is [rff.Paired], as rff.SADERF and rff.ADERF are.
//
// If the feature maps of queries and of keys are [rff.LogMap]s, attention uses the logarithms of
// the features and neither overflows nor underflows. If the feature map of queries or of keys is
// not an [rff.LogMap], attention uses the features themselves.
//
// NewLinear returns an error if phi or rff.Keys(phi) is nil, or if phi and rff.Keys(phi) differ in
// the dimension of their points or in the number of their features.
func NewLinear[T dense.Float](phi rff.Map[T], opts LinearOptions) (Linear[T], error) {
	if phi == nil {
		return Linear[T]{}, errors.New("performer: phi is nil")
	}
	b, err := door.Choose[T, Batch[T]](linear32, linear64, linearArgs{phi, opts})
	return Linear[T]{b}, err
}

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
