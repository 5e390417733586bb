package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// LayerGradient holds gradients with respect to the weights (in×d, in×d and in×dv) and
// biases of a [Layer]. Biases that the layer does not have have none: theirs are nil.
type LayerGradient[T dense.Float] struct {
	WQ, WK, WV dense.Matrix[T]
	BQ, BK, BV []T
}

// Backward writes the gradient of L = Σ_ic dout_ic·out_ic, where out (L×dv) is what
// Forward makes of x (L×in), with respect to x into dx, which it returns, and those with
// respect to weights and biases into dw; a zero dx, and what is zero or nil in dw, is
// allocated. dw may be nil if they are not needed.
//
// Beyond the time and memory of the attention it takes O(L·in·(2d+dv)) time and holds Q,
// K, V and their gradients. dx may be exactly x or dout where shapes allow; nothing else
// may overlap. Backward panics with the shapes if they do not fit, and with the text of
// CanBackward if that is an error.
func (l *Layer[T]) Backward(dx dense.Matrix[T], dw *LayerGradient[T], x, dout dense.Matrix[T]) dense.Matrix[T] {
	if err := l.CanBackward(); err != nil {
		panic(err.Error())
	}
	l.check(x)
	q, k, v := l.query.apply(x), l.key.apply(x), l.value.apply(x)
	var zero dense.Matrix[T]
	dq, dk, dv := l.attention.(Differentiable[T]).Backward(zero, zero, zero, q, k, v, dout)
	if dw != nil {
		dw.WQ, dw.BQ = l.query.gradient("BQ", dw.WQ, dw.BQ, x, dq)
		dw.WK, dw.BK = l.key.gradient("BK", dw.WK, dw.BK, x, dk)
		dw.WV, dw.BV = l.value.gradient("BV", dw.WV, dw.BV, x, dv)
	}
	dx = dense.Ensure(dx, x.Rows, x.Cols)
	matmul.MulT(1, dq, l.query.weight, 0, dx)
	matmul.MulT(1, dk, l.key.weight, 1, dx)
	matmul.MulT(1, dv, l.value.weight, 1, dx)
	return dx
}

// CanBackward returns nil if the attention is Differentiable and can be differentiated,
// and an error that says why not otherwise.
func (l *Layer[T]) CanBackward() error { return canBackward(l.attention) }

// gradient writes the gradients with respect to weight and bias, xᵀ·dy and Σ_i dy_i.
func (a *affine[T]) gradient(name string, weight dense.Matrix[T], bias []T, x, dy dense.Matrix[T]) (dense.Matrix[T], []T) {
	weight = dense.Ensure(weight, x.Cols, dy.Cols)
	matmul.TMul(1, x, dy, 0, weight)
	if a.bias == nil {
		return weight, nil
	}
	if bias == nil {
		bias = make([]T, dy.Cols)
	}
	if len(bias) != dy.Cols {
		panic(fmt.Sprintf("performer: %s has length %d, want %d", name, len(bias), dy.Cols))
	}
	clear(bias)
	for i := range dy.Rows {
		vecmath.AddScaled(bias, dy.Row(i), 1)
	}
	return weight, bias
}
