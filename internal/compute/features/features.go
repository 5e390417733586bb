// Package features computes the features of points in float64, for points of either type.
package features

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/law/residual"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

type Map[T dense.Float] interface {
	Dims() (in, out int)
	Transform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

// Source computes the features of points. Goroutines may share it.
type Source[T dense.Float] interface {
	// Centred writes φ(x_i) − mean into the rows of dst (n×D) and returns dst. Centred subtracts in
	// float64, so a large mean costs no accuracy beyond the rounding of the features.
	Centred(dst dense.Matrix[float64], x dense.Matrix[T], mean []float64) dense.Matrix[float64]

	// Residuals is Centred, and also writes k(x_i, x_i) − ‖φ(x_i)‖² into residuals, for a
	// residual.Residual, and zeros for other maps.
	Residuals(dst dense.Matrix[float64], residuals []float64, x dense.Matrix[T], mean []float64) dense.Matrix[float64]

	// Each calls f for at most size rows at a time. Each copies the results of f, rounded to T,
	// into the same rows of first and second, unless these are zero. y has the targets of the rows,
	// or is zero. Nil weights are 1. Calls of f are concurrent.
	Each(size int, mean []float64, x, y dense.Matrix[T], weights []T, first, second dense.Matrix[T], f func(r *Design))

	Centring(x, y dense.Matrix[T], weights []T) Centring
}

// Design holds rows of the design matrix Φ with their targets and weights.
type Design struct {
	Lo      int                   // index of the first row
	Phi     dense.Matrix[float64] // φ − mean
	Y       dense.Matrix[float64]
	Weights []float64

	// Residuals are k(x, x) − ‖φ(x)‖² for a residual.Residual, and zeros for other maps.
	Residuals []float64

	// First and Second are results. The function sets their shape.
	First, Second scratch.Buffer[float64]

	phi, y scratch.Buffer[float64]
}

func New[T dense.Float](phi Map[T]) Source[T] {
	s, _ := door.Choose[T, Source[T]](newSingle, newDouble, phi)
	return s
}

//go:noinline
func newSingle(phi any) (any, error) { return newSource(phi.(Map[float32])), nil }

//go:noinline
func newDouble(phi any) (any, error) { return newSource(phi.(Map[float64])), nil }

func newSource[T dense.Float](phi Map[T]) *source[T] {
	return &source[T]{phi: phi, residual: residual.Of[T](phi)}
}

// CheckPoints panics if phi is nil, as in a zero model, or if x does not have d columns.
func CheckPoints[T dense.Float](name string, phi Map[T], x dense.Matrix[T]) {
	if phi == nil {
		panic(name + ": the Model is zero, want a fitted one")
	}
	x.Check()
	if d, _ := phi.Dims(); x.Cols != d {
		panic(fmt.Sprintf("%s: x is %d×%d, want %d×%d", name, x.Rows, x.Cols, x.Rows, d))
	}
}

type source[T dense.Float] struct {
	phi      Map[T]
	residual residual.Residual[T] // phi, or nil
	buffers  pool.Of[scratch.Buffer[T]]
}

// transform calls f with the features of the rows of x. f must not keep them.
func (s *source[T]) transform(x dense.Matrix[T], f func(features dense.Matrix[T])) {
	b := s.buffers.Get()
	_, width := s.phi.Dims()
	b.Shape(x.Rows, width)
	f(s.phi.Transform(b.Rows(x.Rows), x))
	s.buffers.Put(b)
}

func (s *source[T]) Centred(dst dense.Matrix[float64], x dense.Matrix[T], mean []float64) dense.Matrix[float64] {
	return s.Residuals(dst, nil, x, mean)
}

func (s *source[T]) Residuals(dst dense.Matrix[float64], residuals []float64, x dense.Matrix[T], mean []float64) dense.Matrix[float64] {
	clear(residuals)
	s.transform(x, func(features dense.Matrix[T]) {
		if residuals != nil && s.residual != nil {
			s.residual.AddResiduals(residuals, x, features, 1)
		}
		for i := range features.Rows {
			subtract(dst.Row(i), features.Row(i), mean)
		}
	})
	return dst
}

func subtract[T dense.Float](dst []float64, x []T, mean []float64) {
	dst, mean = dst[:len(x)], mean[:len(x)]
	for f, v := range x {
		dst[f] = float64(v) - mean[f]
	}
}

var rows pool.Of[Design]

func (s *source[T]) Each(size int, mean []float64, x, y dense.Matrix[T], weights []T, first, second dense.Matrix[T], f func(r *Design)) {
	parallel.Rows(x.Rows, size, func(lo, hi int) {
		r := rows.Get()
		defer rows.Put(r)
		r.Lo = lo
		r.phi.Shape(hi-lo, len(mean))
		r.Residuals = scratch.Resize(r.Residuals, hi-lo)
		r.Phi = s.Residuals(r.phi.Rows(hi-lo), r.Residuals, x.RowRange(lo, hi), mean)
		if y.Rows > 0 {
			r.y.Shape(hi-lo, y.Cols)
			r.Y = dense.Copy(r.y.Rows(hi-lo), y.RowRange(lo, hi))
		}
		r.Weights = scratch.Resize(r.Weights, hi-lo)
		for i := range r.Weights {
			r.Weights[i] = weight(weights, lo+i)
		}
		f(r)
		if first.Rows > 0 {
			dense.Copy(first.RowRange(lo, hi), r.First.Rows(hi-lo))
		}
		if second.Rows > 0 {
			dense.Copy(second.RowRange(lo, hi), r.Second.Rows(hi-lo))
		}
	})
}

func weight[T dense.Float](weights []T, i int) float64 {
	if weights == nil {
		return 1
	}
	return float64(weights[i])
}
