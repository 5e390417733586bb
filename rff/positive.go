package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

type positives[T dense.Float] struct {
	*features[T]
	logRow  rowFunc[T]
	logBack *pullback[T]
}

// exponent is the logarithm of the features of frequency k, ±slope·w_kᵀx − scale·‖x‖²/2 +
// offsets[k] + constant. With both signs there are no offsets.
type exponent[T dense.Float] struct {
	slope           T
	scale, constant float64
	offsets         []T
}

// exponential returns the features of exp(scale·xᵀy). source has the terms of the law.
func exponential[T dense.Float](e engine[T], x exponent[T], terms mse.Exponential, source string) *positives[T] {
	k, law := kernels.Softmax{Gamma: x.scale}, mse.OfSoftmax(e.kind(), source, terms, x.scale)
	logRow := x.logRows(e.frequencies(), e.out)
	m := e.frequencies()
	row := func(phi, x []T, from, to int) {
		logRow(phi, x, from, to)
		for at := 0; at < len(phi); at += m {
			part := phi[at+from : at+to]
			vecmath.Exp(part, part)
		}
	}
	return &positives[T]{
		features: newFeatures(e, k, law, row, expSlope(e, x.scale, x.slope, row)),
		logRow:   logRow, logBack: logSlope(e, x.scale, x.slope),
	}
}

// level returns the part of the logarithm that all features of x share.
func (p *exponent[T]) level(x []T) T {
	return T(-p.scale*vecmath.HalfSquaredNorm(x) + p.constant)
}

func (p exponent[T]) logRows(m, out int) rowFunc[T] {
	switch {
	case out > m:
		return func(phi, x []T, from, to int) {
			c := p.level(x)
			positive, negative := phi[from:to], phi[m+from:m+to]
			vecmath.Affine(negative, positive, -p.slope, c)
			vecmath.Affine(positive, positive, p.slope, c)
		}
	case p.offsets != nil:
		return func(phi, x []T, from, to int) {
			vecmath.AffineEach(phi[from:to], p.slope, p.offsets[from:to], p.level(x))
		}
	}
	return func(phi, x []T, from, to int) {
		vecmath.Affine(phi[from:to], phi[from:to], p.slope, p.level(x))
	}
}

func (f *positives[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.run(dst, x, f.logRow)
}

func (f *positives[T]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	return f.logBack.run("dlog", dst, x, dlog)
}
