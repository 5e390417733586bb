package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Positive is a map with positive features that is computed row by row and
// known in log space: SoftmaxPositive, SoftmaxOptimal, SoftmaxHyperbolic and ELU.
// It never changes after construction and may be shared by goroutines.
type Positive[T dense.Float] struct {
	engine[T]
	name   string
	kernel kernels.Kernel
	row    rowFunc[T]
	logRow rowFunc[T]

	back, logBack *pullback[T]
}

// exponential returns the map whose logarithm is logRow: ±√s·Wx − s‖x‖²/2 + const for
// s = scale and r = √s.
func exponential[T dense.Float](e engine[T], name string, scale float64, r T, logRow rowFunc[T]) *Positive[T] {
	m := e.frequencies()
	row := func(phi, x []T, from, to int) {
		logRow(phi, x, from, to)
		for at := 0; at < len(phi); at += m {
			part := phi[at+from : at+to]
			vecmath.Exp(part, part)
		}
	}
	return &Positive[T]{
		engine: e, name: name, kernel: kernels.Softmax{Scale: scale},
		row: row, logRow: logRow,
		back: expSlope(e, scale, r, row), logBack: logSlope(e, scale, r),
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
// written.
func (f *Positive[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.run(dst, x, f.row)
}

// LogTransform writes log φ of every row of x (n×in) into dst (n×out) and
// returns it; all else is as for Transform.
func (f *Positive[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.run(dst, x, f.logRow)
}

// Kernel returns what φ(x)ᵀφ(y) estimates.
func (f *Positive[T]) Kernel() kernels.Kernel { return f.kernel }

// String returns the constructor with its parameters, and the dimensions.
func (f *Positive[T]) String() string { return describe(f.name, f.in, f.out) }
