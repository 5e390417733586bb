package rff

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/projection"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// blockRows is the number of rows that are projected together and finished while they are in cache.
// A projection that hands over tiles chooses its own number.
const blockRows = 64

// engine computes a map row by row, either in tiles that the projection hands over or in blocks of
// rows.
type engine[T dense.Float] struct {
	w       orf.Projection[T]   // nil for a map without frequencies
	tiler   projection.Tiler[T] // w, or nil if rows must be whole
	rows    mse.Rows            // of the frequencies that the constructor was given
	in, out int
	passes  *pool.Of[pass[T]]
}

// rowFunc writes the features of the point x for the frequencies from ≤ k < to into φ. φ[from:to]
// holds the projections before the call. Calls for parts of a row come in any order.
type rowFunc[T dense.Float] func(phi, x []T, from, to int)

// newEngine returns the engine of a map that has a number of features, per, for each of the m
// frequencies of w.
func newEngine[T dense.Float](w orf.Projection[T], per int) (engine[T], error) {
	if w == nil {
		return engine[T]{}, fmt.Errorf("rff: w is nil, want a projection")
	}
	m, d := w.Shape()
	if m < 1 || d < 1 {
		return engine[T]{}, fmt.Errorf("rff: w is %d×%d, want at least 1×1", m, d)
	}
	if err := cmp.Or(limit.Memory[T](m, per), limit.Memory[T](d)); err != nil {
		return engine[T]{}, fmt.Errorf("rff: w is %d×%d, for points and %d·%d features: %w", m, d, per, m, err)
	}
	e := explicit[T](d, per*m)
	e.w, e.rows = w, mse.RowsOf(w)
	e.tiler, _ = w.(projection.Tiler[T])
	return e, nil
}

// newScaledEngine returns the engine of newEngine and the factor of projections that factor,
// inverse or root, makes of the argument v.
func newScaledEngine[T dense.Float](w orf.Projection[T], per int, factor func(name string, v float64) (T, error), name string, v float64) (engine[T], T, error) {
	e, err := newEngine(w, per)
	if err != nil {
		return e, 0, err
	}
	r, err := factor(name, v)
	return e, r, err
}

// drawn returns m×d frequencies whose coordinates are independent draws of coordinate from src. v
// is the argument whose inverse the map needs.
func drawn[T dense.Float](m, d int, name string, v float64, src rand.Source, coordinate func(rng *rand.Rand) float64) (orf.Projection[T], error) {
	_, err := inverse[T](name, v)
	if err := cmp.Or(drawable[T](m, d), err, given(src)); err != nil {
		return nil, err
	}
	rng, frequencies := rand.New(src), dense.New[T](m, d)
	for i := range frequencies.Data {
		frequencies.Data[i] = T(coordinate(rng))
	}
	return orf.FromMatrix(frequencies)
}

// explicit returns the engine of a map without frequencies.
func explicit[T dense.Float](in, out int) engine[T] {
	return engine[T]{in: in, out: out, passes: new(pool.Of[pass[T]])}
}

// named returns the frame of the map that e computes. law becomes the law for the frequencies of e.
func (e engine[T]) named(name string, k kernels.Kernel, law mse.Law) frame {
	return frame{name: name, in: e.in, out: e.out, kernel: k, law: law.Over(e.rows)}
}

// frequencies returns m, or 0 for a map without frequencies.
func (e engine[T]) frequencies() int {
	if e.w == nil {
		return 0
	}
	m, _ := e.w.Shape()
	return m
}

// run calls row for every row of x and of dst. run writes projections into dst, and row replaces
// them by features.
func (e engine[T]) run(dst, x dense.Matrix[T], row rowFunc[T]) dense.Matrix[T] {
	checkPoints(x, e.in)
	dst = dense.Ensure(dst, x.Rows, e.out)
	p := e.passes.Get()
	*p = pass[T]{engine: e, dst: dst, x: x, row: row}
	if e.tiler != nil {
		e.tiler.ProjectTiles(dst.ColRange(0, e.frequencies()), x, p)
	} else {
		parallel.Do((x.Rows+blockRows-1)/blockRows, p)
	}
	*p = pass[T]{}
	e.passes.Put(p)
	return dst
}

// pass is one run of an engine. If x is projected by tiles, pass is the epilogue of this
// projection. Otherwise it is the task that works on blocks of rows.
type pass[T dense.Float] struct {
	engine[T]
	dst, x dense.Matrix[T]
	row    rowFunc[T]
}

func (p *pass[T]) Finish(lo, hi, from, to int) {
	for i := lo; i < hi; i++ {
		p.row(p.dst.Row(i), p.x.Row(i), from, to)
	}
}

func (p *pass[T]) Piece(i int) {
	lo := i * blockRows
	hi := min(lo+blockRows, p.x.Rows)
	m := p.frequencies()
	if p.w != nil {
		p.w.Project(p.dst.RowRange(lo, hi).ColRange(0, m), p.x.RowRange(lo, hi))
	}
	p.Finish(lo, hi, 0, m)
}

// features is a map that is computed row by row: New, its named special cases, and the explicit
// maps Identity, Quadratic and Taylor.
type features[T dense.Float] struct {
	engine[T]
	frame
	row  rowFunc[T]
	back *pullback[T] // nil if the derivatives are not known
}

func (f *features[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.run(dst, x, f.row)
}

func (f *features[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	if err := f.CanBackward(); err != nil {
		panic(err.Error())
	}
	return f.back.run("dphi", dst, x, dphi)
}

func (f *features[T]) CanBackward() error {
	if f.back == nil {
		return errNoDerivatives
	}
	return nil
}
