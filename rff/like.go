package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
)

// complete is a map with the methods of all optional interfaces. If an inner map lacks a method,
// like hides the method of the outer map.
type complete[T dense.Float] interface {
	always[T]
	withLogarithms[T]
	withDerivatives[T]
	LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T]
}

type always[T dense.Float] interface {
	Paired[T]
	fmt.Stringer
	mse.Lawful
	archive.Made
}

type withLogarithms[T dense.Float] interface {
	LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T]
}

type withDerivatives[T dense.Float] interface {
	Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T]
	CanBackward() error
}

// like returns m as a LogMap, a Differentiable or a DifferentiableLog if model is one.
func like[T dense.Float](m complete[T], model Map[T]) Map[T] {
	_, logs := model.(LogMap[T])
	_, differentiable := model.(Differentiable[T])
	_, both := model.(DifferentiableLog[T])
	switch {
	case both:
		return m
	case logs && differentiable:
		return struct {
			always[T]
			withLogarithms[T]
			withDerivatives[T]
		}{m, m, m}
	case logs:
		return struct {
			always[T]
			withLogarithms[T]
		}{m, m}
	case differentiable:
		return struct {
			always[T]
			withDerivatives[T]
		}{m, m}
	}
	return struct{ always[T] }{m}
}

// through is a map computed through the map inner, a block of rows at a time. Without a method of
// inner, its function is nil, and like hides the method.
type through[T dense.Float, S any] struct {
	blockwise[T, S]
	inner                       Map[T]
	logTransform, pull, logPull blockFunc[T, S]
}

func (f *through[T, S]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.forward(dst, x, f.logTransform)
}

func (f *through[T, S]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return f.differentiate("dphi", dst, x, dphi, f.pull)
}

func (f *through[T, S]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	return f.differentiate("dlog", dst, x, dlog, f.logPull)
}

func (f *through[T, S]) CanBackward() error { return f.inner.(Differentiable[T]).CanBackward() }

// differentiate is backward. It panics if inner has no derivatives.
func (f *through[T, S]) differentiate(name string, dst, x, g dense.Matrix[T], pull blockFunc[T, S]) dense.Matrix[T] {
	if err := f.CanBackward(); err != nil {
		panic(err.Error())
	}
	return f.backward(name, dst, x, g, pull)
}

// lawOf returns the law of the estimates of m, or the zero Law if none is known.
func lawOf[T dense.Float](m Map[T]) mse.Law {
	if l, ok := m.(mse.Lawful); ok {
		return l.Law()
	}
	return mse.Law{}
}
