package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Gradients returns the map ψ(x) = [∇f_1(x) … ∇f_p(x)] from R^d to R^(d·p) with the gradients of
// the functions f_j(x) = φ(x)ᵀw_j, for φ = phi and the columns w_j of w (D×p), such as functions
// that package ridge has learnt. The map of Gradients has a nil Kernel, and keeps phi and a copy of
// w. For D features in phi and a w with p columns, Transform of the map of Gradients costs p times
// Backward of phi, and 256·(D + d) numbers of scratch memory in each goroutine. Gradients returns
// an error for a phi that is nil or without derivatives, and a w without columns, with other than D
// rows or with an element that is not finite in T.
func Gradients[T dense.Float](phi Map[T], w dense.Matrix[float64]) (Map[T], error) {
	w.Check()
	return build[T](gradientsRecipe[T]{phi, w.Clone()})
}

type gradientsRecipe[T dense.Float] struct {
	Of      Map[T]
	Weights dense.Matrix[float64]
}

type gradients[T dense.Float] struct {
	blockwise[T, gradientsSpace[T]]
	inner   Differentiable[T]
	weights dense.Matrix[T] // p×D
}

type gradientsSpace[T dense.Float] struct{ weights, slopes []T }

func newGradients[T dense.Float](r gradientsRecipe[T]) (Map[T], error) {
	if r.Of == nil {
		return nil, fmt.Errorf("rff: phi is nil, want a map")
	}
	inner, ok := r.Of.(Differentiable[T])
	if !ok {
		return nil, fmt.Errorf("rff: phi is %v, which is not Differentiable", r.Of)
	}
	if err := inner.CanBackward(); err != nil {
		return nil, err
	}
	in, width := inner.Dims()
	if r.Weights.Rows != width || r.Weights.Cols < 1 {
		return nil, fmt.Errorf("rff: w is %d×%d, want %d rows and at least one column", r.Weights.Rows, r.Weights.Cols, width)
	}
	if err := limit.Memory[T](in, r.Weights.Cols); err != nil {
		return nil, fmt.Errorf("rff: w has %d columns, for gradients in R^%d: %w", r.Weights.Cols, in, err)
	}
	weights := dense.Copy(dense.Matrix[T]{}, r.Weights)
	if err := argument.Finite("rff: w", weights); err != nil {
		return nil, err
	}
	m := &gradients[T]{inner: inner, weights: dense.Transpose(dense.Matrix[T]{}, weights)}
	m.frame = frame{name: fmt.Sprintf("Gradients(%v)", r.Of), in: in, out: in * r.Weights.Cols, recipe: r}
	m.rows, m.transform = affineRows, m.block
	return m, nil
}

func (m *gradients[T]) block(s *gradientsSpace[T], dst, x, _ dense.Matrix[T]) {
	weights, slopes := scratchMatrix(&s.weights, x.Rows, m.weights.Cols), scratchMatrix(&s.slopes, x.Rows, m.in)
	for j := range m.weights.Rows {
		for i := range weights.Rows {
			copy(weights.Row(i), m.weights.Row(j))
		}
		m.inner.Backward(slopes, x, weights)
		dense.Copy(dst.ColRange(j*m.in, (j+1)*m.in), slopes)
	}
}
