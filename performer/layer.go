package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
)

// Layer is single-head self-attention with learned projections: the rows of x
// become Q = x·W_Q + b_Q, K = x·W_K + b_K and V = x·W_V + b_V, over which the
// attention runs. A Layer does not change after construction and may be shared
// by goroutines if its attention may, as [Attention] and [Exact] may.
type Layer[T dense.Float] struct {
	query, key, value affine[T]
	attention         Form[T]
}

// NewLayer returns the layer with weights wq and wk (in×d) and wv (in×dv) and
// biases bq and bk (length d) and bv (length dv); a nil bias is none. Weights
// and biases are copied. It returns an error if attention is nil, if shapes do
// not fit together, or if attention is an [Attention] for another d.
func NewLayer[T dense.Float](wq dense.Matrix[T], bq []T, wk dense.Matrix[T], bk []T, wv dense.Matrix[T], bv []T, attention Form[T]) (*Layer[T], error) {
	if attention == nil {
		return nil, errors.New("performer: attention is nil")
	}
	if wk.Rows != wq.Rows || wv.Rows != wq.Rows || wk.Cols != wq.Cols {
		return nil, fmt.Errorf("performer: wq is %d×%d, wk is %d×%d, wv is %d×%d, want in×d, in×d and in×dv",
			wq.Rows, wq.Cols, wk.Rows, wk.Cols, wv.Rows, wv.Cols)
	}
	if a, ok := attention.(*Attention[T]); ok && wq.Cols != a.d {
		return nil, fmt.Errorf("performer: wq is %d×%d, but attention takes queries of dimension %d", wq.Rows, wq.Cols, a.d)
	}
	l := &Layer[T]{attention: attention}
	for _, p := range []struct {
		dst    *affine[T]
		name   string
		weight dense.Matrix[T]
		bias   []T
	}{{&l.query, "q", wq, bq}, {&l.key, "k", wk, bk}, {&l.value, "v", wv, bv}} {
		if p.bias != nil && len(p.bias) != p.weight.Cols {
			return nil, fmt.Errorf("performer: b%s has length %d, w%s is %d×%d, want a bias for each column",
				p.name, len(p.bias), p.name, p.weight.Rows, p.weight.Cols)
		}
		*p.dst = affine[T]{weight: p.weight.Clone(), bias: append([]T(nil), p.bias...)}
	}
	return l, nil
}

// Dims returns the dimensions of the rows of x and of the output.
func (l *Layer[T]) Dims() (in, out int) { return l.value.weight.Rows, l.value.weight.Cols }

// Forward computes the layer on x (L×in) into dst (L×dv), which it returns; a
// zero dst is allocated. Beyond the time and memory of the attention it takes
// O(L·in·(2d+dv)) time and holds Q, K and V. dst may be exactly x if dv = in.
// It panics with the shapes if x or dst does not fit.
func (l *Layer[T]) Forward(dst, x dense.Matrix[T]) dense.Matrix[T] {
	l.check(x)
	return l.attention.Forward(dst, l.query.apply(x), l.key.apply(x), l.value.apply(x))
}

// check panics unless x is L×in.
func (l *Layer[T]) check(x dense.Matrix[T]) {
	x.Check()
	if in, _ := l.Dims(); x.Cols != in {
		w := l.query.weight
		panic(fmt.Sprintf("performer: x is %d×%d, wq is %d×%d, want L×%d", x.Rows, x.Cols, w.Rows, w.Cols, in))
	}
}

// affine is the map x ↦ x·weight + bias on rows.
type affine[T dense.Float] struct {
	weight dense.Matrix[T]
	bias   []T
}

func (a *affine[T]) apply(x dense.Matrix[T]) dense.Matrix[T] {
	y := dense.New[T](x.Rows, a.weight.Cols)
	for i := range y.Rows {
		copy(y.Row(i), a.bias)
	}
	matmul.Mul(1, x, a.weight, 1, y)
	return y
}
