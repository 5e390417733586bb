package layer

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// norm divides blocks of n columns by their root mean square and multiplies coordinates by gains
// [Zhang & Sennrich 2019]:
//
//	y_j = g_j·x_j·s,  s = 1/√(Σ_j x_j²/n + ε)
type norm[T dense.Float] struct {
	gain    []T // of length n; nil for no norm
	epsilon float64
}

// scale returns s, or NaN if the sum of squares is not finite.
func (m *norm[T]) scale(x []T) T {
	half := vecmath.HalfSquaredNorm(x)
	if math.IsInf(half, 0) {
		return T(math.NaN())
	}
	return T(1 / math.Sqrt(2*half/float64(len(x))+m.epsilon))
}

// normCall is the memory of the norm of one matrix.
type normCall[T dense.Float] struct {
	norm  *norm[T]
	grain int // rows of a piece
	x     dense.Matrix[T]
	dy    dense.Matrix[T]
	kept  scratch.Buffer[T] // x before the norm
	sums  scratch.Buffer[T] // gradients with respect to gains, a row for each piece
}

// pieces sets the grain and returns the number of pieces.
func (c *normCall[T]) pieces() int {
	c.grain = rowGrain(c.x.Cols)
	return (c.x.Rows + c.grain - 1) / c.grain
}

// rows returns the rows of piece i.
func (c *normCall[T]) rows(i int) (lo, hi int) {
	return i * c.grain, min((i+1)*c.grain, c.x.Rows)
}

// apply normalises the rows of x in place. It keeps a copy for backward if keep is true.
func (m *norm[T]) apply(c *normCall[T], x dense.Matrix[T], keep bool) {
	if m.gain == nil {
		return
	}
	if keep {
		c.kept.Shape(x.Rows, x.Cols)
		dense.Copy(c.kept.Rows(x.Rows), x)
	}
	c.norm, c.x = m, x
	parallel.Do(c.pieces(), (*normForward[T])(c))
	c.norm, c.x = nil, dense.Matrix[T]{}
}

// normForward is the Task of apply.
type normForward[T dense.Float] normCall[T]

func (t *normForward[T]) Piece(i int) {
	c, gain := (*normCall[T])(t), t.norm.gain
	for r, hi := c.rows(i); r < hi; r++ {
		for x := c.x.Row(r); len(x) > 0; x = x[len(gain):] {
			x := x[:len(gain)]
			vecmath.Scale(x, c.norm.scale(x))
			vecmath.Multiply(x, gain)
		}
	}
}

// backward turns gradients with respect to normalised rows, in place, into gradients with respect to
// the rows that apply kept. It writes the gradient with respect to the gains of the given name into
// gradient, unless that is nil. With u_j = g_j·dy_j
//
//	dx_j = s·u_j − x_j·s³·Σ_l u_l·x_l/n,  dg_j = Σ dy_j·x_j·s
//
// A row whose dy is zero has the gradient zero, whatever x holds.
func (m *norm[T]) backward(c *normCall[T], dy dense.Matrix[T], name string, gradient *[]T) {
	if m.gain == nil {
		if gradient != nil {
			*gradient = nil
		}
		return
	}
	n := len(m.gain)
	c.norm, c.x, c.dy = m, c.kept.Rows(dy.Rows), dy
	pieces := c.pieces()
	c.sums.Shape(pieces, n)
	parallel.Do(pieces, (*normBackward[T])(c))
	c.norm, c.x, c.dy = nil, dense.Matrix[T]{}, dense.Matrix[T]{}
	if gradient == nil {
		return
	}
	if *gradient == nil {
		*gradient = make([]T, n)
	}
	if len(*gradient) != n {
		panic(fmt.Sprintf("layer: %s has length %d, want %d", name, len(*gradient), n))
	}
	clear(*gradient)
	for i := range pieces {
		vecmath.AddScaled(*gradient, c.sums.Rows(pieces).Row(i), 1)
	}
}

// normBackward is the Task of backward.
type normBackward[T dense.Float] normCall[T]

func (t *normBackward[T]) Piece(i int) {
	c, gain := (*normCall[T])(t), t.norm.gain
	n := len(gain)
	sums := c.sums.Rows(i + 1).Row(i)
	clear(sums)
	for r, hi := c.rows(i); r < hi; r++ {
		x, dy := c.x.Row(r), c.dy.Row(r)
		if layout.IsZero(dy) {
			continue
		}
		for ; len(x) > 0; x, dy = x[n:], dy[n:] {
			x, dy := x[:n], dy[:n]
			s := c.norm.scale(x)
			for j, d := range dy {
				sums[j] += d * (x[j] * s)
				dy[j] = d * gain[j] * s
			}
			vecmath.AddScaled(dy, x, -s*s*vecmath.Dot(dy, x)/T(n))
		}
	}
}

// rowGrain returns how many rows of so many columns make up a piece of work.
func rowGrain(cols int) int {
	const elements = 1 << 14
	return max(elements/max(cols, 1), 1)
}
