package layer

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// RMSNorm divides a row x of n numbers by the root mean square of the numbers, and multiplies
// number j by a gain g_j: y_j = g_j·x_j/√(Σ_j x_j²/n + ε) [Zhang & Sennrich 2019]. In a row of more
// columns than gains, an RMSNorm of n gains normalises each block of n columns, such as a head, by
// itself. The zero RMSNorm leaves rows unchanged. Goroutines may share an RMSNorm.
type RMSNorm[T dense.Float] struct {
	Gain    []T     // g
	Epsilon float64 // ε; Llama has 1e-5 or 1e-6
}

var norms pool.Pair[normCall[float32], normCall[float64]]

// Apply of an RMSNorm divides each row of the matrix x, or each block of len(Gain) columns, by
// √(mean square + Epsilon), multiplies by Gain, writes the rows to the matrix dst and returns dst;
// a zero dst is allocated. The matrix dst may be exactly x, or share no memory with x. After the
// first call, Apply allocates nothing unless dst is zero. Apply writes NaN to a row or block of a
// row whose sum of squares is not finite. Apply panics if the number of columns of x is no multiple
// of the number of gains, if Epsilon is negative or not finite, or if x.Check panics.
func (m *RMSNorm[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if n := len(m.Gain); n > 0 && x.Cols%n != 0 || !(m.Epsilon >= 0) || math.IsInf(m.Epsilon, 0) {
		panic(fmt.Sprintf("layer: an RMSNorm of %d gains and Epsilon = %v for rows of %d columns", n, m.Epsilon, x.Cols))
	}
	dst = dense.Copy(dst, x)
	c := pool.Get[normCall[T]](&norms)
	m.apply(c, dst, false)
	pool.Put(&norms, c)
	return dst
}

func (m *RMSNorm[T]) scale(x []T) T {
	half := vecmath.HalfSquaredNorm(x)
	if math.IsInf(half, 0) {
		return T(math.NaN())
	}
	return T(1 / math.Sqrt(2*half/float64(len(x))+m.Epsilon))
}

type normCall[T dense.Float] struct {
	norm  *RMSNorm[T]
	grain int // rows of a task
	x     dense.Matrix[T]
	dy    dense.Matrix[T]
	kept  scratch.Buffer[T] // x before the norm
	sums  scratch.Buffer[T] // gradients with respect to gains, a row for each task
}

func (c *normCall[T]) tasks() int {
	c.grain = rowGrain(c.x.Cols)
	return (c.x.Rows + c.grain - 1) / c.grain
}

func (c *normCall[T]) taskRows(i int) (lo, hi int) {
	return i * c.grain, min((i+1)*c.grain, c.x.Rows)
}

// apply normalises the rows of x in place. If keep is set, apply keeps a copy of x for backward.
func (m *RMSNorm[T]) apply(c *normCall[T], x dense.Matrix[T], keep bool) {
	if len(m.Gain) == 0 {
		return
	}
	if keep {
		c.kept.Shape(x.Rows, x.Cols)
		dense.Copy(c.kept.Rows(x.Rows), x)
	}
	c.norm, c.x = m, x
	parallel.Do(c.tasks(), (*normForward[T])(c))
	c.norm, c.x = nil, dense.Matrix[T]{}
}

type normForward[T dense.Float] normCall[T]

func (t *normForward[T]) Piece(i int) {
	c, gain := (*normCall[T])(t), t.norm.Gain
	for r, hi := c.taskRows(i); r < hi; r++ {
		for x := c.x.Row(r); len(x) > 0; x = x[len(gain):] {
			x := x[:len(gain)]
			vecmath.Scale(x, c.norm.scale(x))
			vecmath.Multiply(x, gain)
		}
	}
}

// backward replaces the gradients dy with respect to normalised rows by the gradients with respect
// to the rows that apply kept, and writes the gradient dg with respect to the gains to a gradient
// that is not nil. With u_j = g_j·dy_j
//
//	dx_j = s·u_j − x_j·s³·Σ_l u_l·x_l/n,  dg_j = Σ dy_j·x_j·s
//
// A row whose dy is zero has the gradient zero, whatever x holds.
func (m *RMSNorm[T]) backward(c *normCall[T], dy dense.Matrix[T], name string, gradient *[]T) {
	if len(m.Gain) == 0 {
		if gradient != nil {
			*gradient = nil
		}
		return
	}
	n := len(m.Gain)
	c.norm, c.x, c.dy = m, c.kept.Rows(dy.Rows), dy
	tasks := c.tasks()
	c.sums.Shape(tasks, n)
	parallel.Do(tasks, (*normBackward[T])(c))
	c.norm, c.x, c.dy = nil, dense.Matrix[T]{}, dense.Matrix[T]{}
	if gradient == nil {
		return
	}
	clearVector(name, gradient, n)
	for i := range tasks {
		vecmath.AddScaled(*gradient, c.sums.Rows(tasks).Row(i), 1)
	}
}

type normBackward[T dense.Float] normCall[T]

func (t *normBackward[T]) Piece(i int) {
	c, gain := (*normCall[T])(t), t.norm.Gain
	n := len(gain)
	sums := c.sums.Rows(i + 1).Row(i)
	clear(sums)
	for r, hi := c.taskRows(i); r < hi; r++ {
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

func rowGrain(cols int) int {
	const elements = 1 << 14
	return max(elements/max(cols, 1), 1)
}
