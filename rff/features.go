package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

// features is a map that is computed row by row: the general scheme, its named special cases, one
// side of SoftmaxHybrid, the explicit maps Identity, Quadratic, Taylor and AdditiveChiSquare, and
// SkewedChiSquare.
type features[T dense.Float] struct {
	engine[T]
	name   string
	kernel kernels.Kernel
	row    rowFunc[T]
	back   *pullback[T] // nil if the derivatives are not known
	law    mse.Law
	fitted string
}

func (f *features[T]) Dims() (in, out int) { return f.in, f.out }

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

func (f *features[T]) Kernel() kernels.Kernel { return f.kernel }

// Law returns what theory knows of the error.
func (f *features[T]) Law() mse.Law { return f.law.Over(f.rows) }

// Fitted says what the features are fitted to, "" if they are as good at all points of one norm.
func (f *features[T]) Fitted() string { return f.fitted }

// String returns the constructor with its parameters, and the dimensions.
func (f *features[T]) String() string { return describe(f.name, f.in, f.out) }

// describe returns name: R^in → R^out.
func describe(name string, in, out int) string {
	return fmt.Sprintf("%s: R^%d → R^%d", name, in, out)
}
