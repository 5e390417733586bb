package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Positive is a map with positive features that is computed row by row and
// known in log space: SoftmaxPositive, SoftmaxOptimal, SoftmaxHyperbolic, their
// counterparts for the Gaussian kernel, those fitted to queries and keys, SADERF, SDERF
// and ADERF, ELU, and Generalised, some of whose features may be 0. It never changes
// after construction and may be shared by goroutines.
type Positive[T dense.Float] struct {
	engine[T]
	name   string
	kernel kernels.Kernel
	row    rowFunc[T]
	logRow rowFunc[T]

	back, logBack *pullback[T]

	exponent  exponent[T]  // of those that exponential makes
	image     *image[T]    // nil unless φ is a map of linear images of points
	partner   *Positive[T] // nil if the map is its own
	estimator Estimator
}

// exponent is the logarithm of the features of frequency k, ±slope·w_kᵀx −
// radius·‖x‖²/2 + offsets[k] + constant: with both signs where there are two features
// a frequency, and no offsets then.
type exponent[T dense.Float] struct {
	slope            T
	radius, constant float64
	offsets          []T
}

// exponential returns the map with these features, which says nothing of its name, its
// kernel and its estimator yet.
func exponential[T dense.Float](e engine[T], x exponent[T]) *Positive[T] {
	logRow := x.logRows(e.frequencies(), e.out)
	m := e.frequencies()
	row := func(phi, x []T, from, to int) {
		logRow(phi, x, from, to)
		for at := 0; at < len(phi); at += m {
			part := phi[at+from : at+to]
			vecmath.Exp(part, part)
		}
	}
	return &Positive[T]{
		engine: e, row: row, logRow: logRow, exponent: x,
		back: expSlope(e, x.radius, x.slope, row), logBack: logSlope(e, x.radius, x.slope),
	}
}

// level returns the logarithm of what all features of x share.
func (p *exponent[T]) level(x []T) T {
	return T(-p.radius*vecmath.HalfSquaredNorm(x) + p.constant)
}

// logRows returns what writes the logarithms of out features of m frequencies.
func (p exponent[T]) logRows(m, out int) rowFunc[T] {
	switch {
	case out > m:
		return func(phi, x []T, from, to int) {
			c := p.level(x)
			positive, negative := phi[from:to], phi[m+from:m+to]
			copy(negative, positive)
			vecmath.Affine(positive, p.slope, c)
			vecmath.Affine(negative, -p.slope, c)
		}
	case p.offsets != nil:
		return func(phi, x []T, from, to int) {
			vecmath.AffineEach(phi[from:to], p.slope, p.offsets[from:to], p.level(x))
		}
	}
	return func(phi, x []T, from, to int) {
		vecmath.Affine(phi[from:to], p.slope, p.level(x))
	}
}

// Dims returns the dimensions of x and of φ(x).
func (f *Positive[T]) Dims() (in, out int) { return f.in, f.out }

// Transform writes φ of every row of x (n×in) into dst (n×out) and returns it;
// a zero dst is allocated. dst must not overlap x, except that ELU allows it to
// be x. A feature whose logarithm is beyond the range of the exponential in T
// is +Inf or 0; LogTransform has it still. A row of dst depends on its row of x
// alone, not on the others nor on GOMAXPROCS. It panics if a shape does not fit.
// The cost is that of projecting n rows and O(n·out), where nothing but dst is
// written; SADERF and ADERF keep a workspace of 1024 points, or of 64 a goroutine and
// 16384 norms, for later calls.
func (f *Positive[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if f.image != nil {
		return f.image.transform(dst, x, false)
	}
	return f.run(dst, x, f.row)
}

// LogTransform writes log φ of every row of x (n×in) into dst (n×out) and
// returns it; all else is as for Transform. Where the logarithms have a multiple of ‖x‖², which
// those of ELU and Generalised have not, they are −Inf if that is out of range, and NaN if a
// projection is out of range in the other direction.
func (f *Positive[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if f.image != nil {
		return f.image.transform(dst, x, true)
	}
	return f.run(dst, x, f.logRow)
}

// Keys returns the map ψ of keys that goes with f as the map φ of queries: that of the
// other points for SADERF and ADERF, f itself otherwise. f.Keys().Keys() is f.
func (f *Positive[T]) Keys() Map[T] {
	if f.partner != nil {
		return f.partner
	}
	return f
}

// Kernel returns what φ(x)ᵀψ(y) estimates, where ψ is f.Keys().
func (f *Positive[T]) Kernel() kernels.Kernel { return f.kernel }

// String returns the constructor with its parameters, and the dimensions.
func (f *Positive[T]) String() string { return describe(f.name, f.in, f.out) }
