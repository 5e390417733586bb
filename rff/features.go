package rff

import "github.com/seed-feabd252/randfeat/dense"

// features is a map that is computed row by row: New, its named special cases, one side of
// SoftmaxHybrid, SkewedChiSquare, and the explicit maps Identity, Quadratic, Taylor and
// AdditiveChiSquare.
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
