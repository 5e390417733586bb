package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/projection"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/orf"
)

// pullback multiplies gradients g with respect to features by the transposed Jacobian of a map.
// With frequencies, the gradient with respect to x is a·Wᵀz + b·x.
type pullback[T dense.Float] struct {
	engine[T]
	transposer orf.Transposer[T] // nil for a map without frequencies

	row func(dx, x, g []T)

	// slope overwrites z, which holds the projections of x if projects is set, and returns a and b.
	// If width is 0 there is no z, and Wᵀ is applied to g itself.
	slope    func(z, x, g []T) (a, b T)
	width    int // of z, at least the number of frequencies
	projects bool

	// finish turns a part of Wᵀz into the gradient at the same part of x.
	finish func(dx, x []T, a, b T)

	passes pool.Of[pullbackPass[T]]
	spaces pool.Of[workspace[T]]
}

func rowwise[T dense.Float](e engine[T], row func(dx, x, g []T)) *pullback[T] {
	return &pullback[T]{engine: e, row: row}
}

// throughZ returns the pullback of a map whose derivatives need projections. z has width columns.
func throughZ[T dense.Float](e engine[T], width int, slope func(z, x, g []T) (a, b T), finish func(dx, x []T, a, b T)) *pullback[T] {
	return &pullback[T]{
		engine: e, transposer: orf.Transposed(e.w),
		slope: slope, width: width, projects: true, finish: finish,
	}
}

func straight[T dense.Float](e engine[T], slope func(z, x, g []T) (a, b T), finish func(dx, x []T, a, b T)) *pullback[T] {
	return &pullback[T]{engine: e, transposer: orf.Transposed(e.w), slope: slope, finish: finish}
}

func scaled[T dense.Float](dx, _ []T, a, _ T) { vecmath.Scale(dx, a) }

func radial[T dense.Float](dx, x []T, a, b T) {
	vecmath.Scale(dx, a)
	vecmath.AddScaled(dx, x, b)
}

func (p *pullback[T]) run(name string, dst, x, g dense.Matrix[T]) dense.Matrix[T] {
	checkGradient(name, x, g, p.in, p.out)
	dst = dense.Ensure(dst, x.Rows, p.in)
	t := p.passes.Get()
	*t = pullbackPass[T]{pullback: p, dst: dst, x: x, g: g}
	tiler, ok := p.transposer.(projection.TransposedTiler[T])
	if ok && p.width == 0 {
		tiler.ProjectTransposedTiles(dst, g, t)
	} else {
		parallel.Do((x.Rows+blockRows-1)/blockRows, t)
	}
	*t = pullbackPass[T]{}
	p.passes.Put(t)
	return dst
}

type pullbackPass[T dense.Float] struct {
	*pullback[T]
	dst, x, g dense.Matrix[T]
}

func (t *pullbackPass[T]) Finish(lo, hi, from, to int) {
	for i := lo; i < hi; i++ {
		a, b := t.slope(nil, t.x.Row(i), t.g.Row(i))
		t.finish(t.dst.Row(i)[from:to], t.x.Row(i)[from:to], a, b)
	}
}

func (t *pullbackPass[T]) Piece(i int) {
	lo := i * blockRows
	hi := min(lo+blockRows, t.x.Rows)
	switch {
	case t.transposer == nil:
		for i := lo; i < hi; i++ {
			t.row(t.dst.Row(i), t.x.Row(i), t.g.Row(i))
		}
	case t.width == 0:
		t.transposer.ProjectTransposed(t.dst.RowRange(lo, hi), t.g.RowRange(lo, hi))
		t.Finish(lo, hi, 0, t.in)
	default:
		t.block(lo, hi)
	}
}

// workspace holds the z of a block of rows and their factors a and b.
type workspace[T dense.Float] struct {
	z    []T
	a, b [blockRows]T
}

func (t *pullbackPass[T]) block(lo, hi int) {
	s := t.spaces.Get()
	if s.z == nil {
		s.z = make([]T, blockRows*t.width)
	}
	n := hi - lo
	z := dense.Of(n, t.width, s.z[:n*t.width])
	projections := z.ColRange(0, t.frequencies())
	dst, x, g := t.dst.RowRange(lo, hi), t.x.RowRange(lo, hi), t.g.RowRange(lo, hi)
	if t.projects {
		t.w.Project(projections, x)
	}
	for i := range n {
		s.a[i], s.b[i] = t.slope(z.Row(i), x.Row(i), g.Row(i))
	}
	t.transposer.ProjectTransposed(dst, projections)
	for i := range n {
		t.finish(dst.Row(i), x.Row(i), s.a[i], s.b[i])
	}
	t.spaces.Put(s)
}
