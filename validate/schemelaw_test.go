package validate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// scheme is a map of rff.New whose kernel has no formula. The kernel is a quadrature, computed once
// for all pairs with the same lengths and angle.
type scheme[T dense.Float] struct {
	h     func(x []T) T
	f     []func(t T) T
	known *sync.Map
}

// bent has the slope 1 above 0 and another slope below.
func bent[T dense.Float](below T) scheme[T] {
	return scheme[T]{known: new(sync.Map), f: []func(t T) T{func(t T) T { return max(t, 0) + below*min(t, 0) }}}
}

// torn is a wave with a jump at 0.
func torn[T dense.Float]() scheme[T] {
	return scheme[T]{known: new(sync.Map), f: []func(t T) T{func(t T) T {
		if t > 0 {
			return 1
		}
		return T(math.Cos(float64(t))) / 2
	}}}
}

// mixed has a factor h, a smooth function and a function with a kink.
func mixed[T dense.Float]() scheme[T] {
	return scheme[T]{
		known: new(sync.Map),
		h: func(x []T) T {
			sum := T(1)
			for _, v := range x {
				sum += v * v
			}
			return 1 / sum
		},
		f: []func(t T) T{func(t T) T { return T(math.Tanh(float64(t))) }, func(t T) T { return max(t, -t) }},
	}
}

// moments returns the mean and the variance of one term.
func (s *scheme[T]) moments(x, y []float64) (mean, variance float64) {
	key := fmt.Sprintf("%.12g %.12g %.12g", floats.Norm(x, 2), floats.Norm(y, 2), floats.Dot(x, y))
	if m, ok := s.known.Load(key); ok {
		return m.([2]float64)[0], m.([2]float64)[1]
	}
	defer func() { s.known.Store(key, [2]float64{mean, variance}) }()
	f := make([]func(t float64) float64, len(s.f))
	for k, fk := range s.f {
		f[k] = func(t float64) float64 { return float64(fk(T(t))) }
	}
	noise := 0x1p-52
	if T(1)+0x1p-30 == 1 {
		noise = 0x1p-23
	}
	mean, variance, ok := mse.Plane(x, y, f, noise)
	if !ok {
		return math.NaN(), math.NaN()
	}
	factor := 1.0
	for _, p := range [][]float64{x, y} {
		if s.h != nil {
			row := dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(p), p))
			factor *= float64(s.h(row.Row(0)))
		}
	}
	return factor * mean, factor * factor * variance
}

// Eval returns the kernel.
func (s *scheme[T]) Eval(x, y []float64) float64 {
	mean, _ := s.moments(x, y)
	return mean
}

func (s scheme[T]) law() law {
	return law{mse: func(x, y []float64, m int) float64 {
		_, variance := s.moments(x, y)
		return variance / float64(m)
	}}
}

func (s scheme[T]) over(w orf.Projection[T], _ rand.Source) (rff.Map[T], error) {
	return rff.New(rff.Scheme[T]{F: s.f, H: s.h, Kernel: &s}, w)
}
