package performer

import "github.com/seed-feabd252/randfeat/dense"

// Exact is exact softmax attention as a [Form]: the methods are [Softmax] and
// [SoftmaxWeights] with these options. The zero value is bidirectional,
// normalised attention with scale 1/√d. It may be shared by goroutines.
type Exact[T dense.Float] struct {
	SoftmaxOptions
}

var (
	_ Form[float32] = Exact[float32]{}
	_ Form[float64] = Exact[float64]{}
	_ Form[float32] = (*Attention[float32])(nil)
	_ Form[float64] = (*Attention[float64])(nil)
)

// Forward is [Softmax] with the options of e.
func (e Exact[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return Softmax(dst, q, k, v, e.SoftmaxOptions)
}

// Weights is [SoftmaxWeights] with the options of e.
func (e Exact[T]) Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T] {
	return SoftmaxWeights(dst, q, k, e.SoftmaxOptions)
}
