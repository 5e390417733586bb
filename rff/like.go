package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
)

// complete has all methods of maps. The maps inside may lack some methods, and like hides those.
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
	Fitted() string
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

// lawOf returns what theory knows of the error of m.
func lawOf[T dense.Float](m Map[T]) mse.Law {
	if l, ok := m.(mse.Lawful); ok {
		return l.Law()
	}
	return mse.Law{}
}

// fitted returns what the features of m are fitted to, "" for nothing.
func fitted[T dense.Float](m Map[T]) string {
	if f, ok := m.(interface{ Fitted() string }); ok {
		return f.Fitted()
	}
	return ""
}
