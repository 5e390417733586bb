package rff

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

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

type engine[T dense.Float] struct {
	recipe  drawn[T]            // what Write stores; without a Spec for New
	w       orf.Projection[T]   // nil for a map without frequencies
	tiler   projection.Tiler[T] // w, or nil if rows must be whole
	rows    mse.Frequencies     // of the frequencies that Draw was given
	in, out int
	passes  *pool.Of[transformRun[T]]
}

// rowFunc replaces the projections φ[from:to] of the point x by features.
type rowFunc[T dense.Float] func(phi, x []T, from, to int)

func newEngine[T dense.Float](r drawn[T]) (engine[T], error) {
	e := engine[T]{recipe: r}
	if !slices.ContainsFunc(specs, func(of any) bool { return reflect.TypeOf(of) == reflect.TypeOf(r.Spec) }) {
		return e, fmt.Errorf("rff: s is %T, want a Spec of this package", r.Spec)
	}
	per := r.Spec.perFrequency()
	if per == 0 {
		if r.W != nil {
			return e, fmt.Errorf("rff: w is given, and %v has no frequencies, want nil", r.Spec)
		}
		return e, nil
	}
	e, err := e.over(r.W, per)
	_, heavy := r.Spec.(Laplacian)
	if law := e.rows.Ensemble; err == nil && law != nil && heavy != (law == orf.Cauchy{}) {
		return e, fmt.Errorf("rff: w has the frequencies of orf.%v, which are not those of %v", law, r.Spec)
	}
	return e, err
}

func (e engine[T]) over(w orf.Projection[T], per int) (engine[T], error) {
	if w == nil {
		return e, fmt.Errorf("rff: w is nil, want a projection")
	}
	m, d := w.Shape()
	if m < 1 || d < 1 {
		return e, fmt.Errorf("rff: w is %d×%d, want at least 1×1", m, d)
	}
	if err := cmp.Or(limit.Memory[T](m, per), limit.Memory[T](d)); err != nil {
		return e, fmt.Errorf("rff: w is %d×%d, for points and %d·%d features: %w", m, d, per, m, err)
	}
	e = e.of(d, per*m)
	e.w, e.rows = w, mse.FrequenciesOf(w)
	e.tiler, _ = w.(projection.Tiler[T])
	return e, nil
}

func (e engine[T]) of(in, out int) engine[T] {
	e.in, e.out, e.passes = in, out, new(pool.Of[transformRun[T]])
	return e
}

func (e engine[T]) kind() string { return reflect.TypeOf(e.recipe.Spec).Name() }

func (e engine[T]) frame(k kernels.Kernel, law mse.Law) frame {
	f := frame{name: "New()", in: e.in, out: e.out, kernel: k, law: law.Over(e.rows)}
	if e.recipe.Spec != nil {
		f.name, f.recipe = e.recipe.Spec.String(), e.recipe
	}
	return f
}

func (e engine[T]) frequencies() int {
	if e.w == nil {
		return 0
	}
	m, _ := e.w.Shape()
	return m
}

func (e engine[T]) run(dst, x dense.Matrix[T], row rowFunc[T]) dense.Matrix[T] {
	checkPoints(x, e.in)
	dst = dense.Ensure(dst, x.Rows, e.out)
	p := e.passes.Get()
	*p = transformRun[T]{engine: e, dst: dst, x: x, row: row}
	if e.tiler != nil {
		e.tiler.ProjectTiles(dst.ColRange(0, e.frequencies()), x, p)
	} else {
		parallel.Do((x.Rows+blockRows-1)/blockRows, p)
	}
	*p = transformRun[T]{}
	e.passes.Put(p)
	return dst
}

// transformRun is one run of an engine: the epilogue of a projection by tiles, or the task of
// blocks.
type transformRun[T dense.Float] struct {
	engine[T]
	dst, x dense.Matrix[T]
	row    rowFunc[T]
}

func (p *transformRun[T]) Finish(lo, hi, from, to int) {
	for i := lo; i < hi; i++ {
		p.row(p.dst.Row(i), p.x.Row(i), from, to)
	}
}

func (p *transformRun[T]) Piece(i int) {
	lo := i * blockRows
	hi := min(lo+blockRows, p.x.Rows)
	m := p.frequencies()
	if p.w != nil {
		p.w.Project(p.dst.RowRange(lo, hi).ColRange(0, m), p.x.RowRange(lo, hi))
	}
	p.Finish(lo, hi, 0, m)
}

type features[T dense.Float] struct {
	engine[T]
	frame
	row  rowFunc[T]
	back *pullback[T] // nil if the derivatives are not known
}

func newFeatures[T dense.Float](e engine[T], k kernels.Kernel, law mse.Law, row rowFunc[T], back *pullback[T]) *features[T] {
	return &features[T]{engine: e, frame: e.frame(k, law), row: row, back: back}
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
