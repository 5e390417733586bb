package rff_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// timing is the work on some points in both directions.
type timing struct {
	name              string
	forward, backward func()
	products          int // of n·m·d multiply-adds, in backward
}

// timed are the maps of n points of R^d with m frequencies.
func timed[T dense.Float](b *testing.B, n, d, m int) []timing {
	w, err := orf.Draw[T](orf.GramSchmidt{}, m, d, exprand.NewSource(1))
	require.NoError(b, err)
	structured, err := orf.Draw[T](orf.Hadamard{}, m, d, exprand.NewSource(1))
	require.NoError(b, err)
	x, dx := points[T](1, n, d, 0.1), dense.New[T](n, d)
	var all []timing
	both := func(name string, products int, m rff.Map[T], err error) {
		require.NoError(b, err)
		f := slopes(m)
		_, out := f.Dims()
		phi, dphi := dense.New[T](n, out), points[T](2, n, out, 1)
		all = append(all, timing{name, func() { f.Transform(phi, x) }, func() { f.Backward(dx, x, dphi) }, products})
	}
	logs := func(name string, m rff.Map[T], err error) {
		require.NoError(b, err)
		f := logSlopes(m)
		_, out := f.Dims()
		phi, dlog := dense.New[T](n, out), points[T](2, n, out, 1)
		all = append(all, timing{name, func() { f.LogTransform(phi, x) }, func() { f.LogBackward(dx, x, dlog) }, 1})
	}
	positive, err := rff.Draw(rff.SoftmaxPositive{Scale: 0.125}, w)
	logs("positive", positive, err)
	fast, err := rff.Draw(rff.SoftmaxPositive{Scale: 0.125}, structured)
	logs("positive-hadamard", fast, err)
	hyperbolic, err := rff.Draw(rff.SoftmaxHyperbolic{Scale: 0.125}, w)
	logs("hyperbolic", hyperbolic, err)
	elu, err := rff.Draw[T](rff.ELU{D: d}, nil)
	logs("elu", elu, err)
	both("positive-exp", 2, positive, nil)
	gaussian, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	both("gaussian", 2, gaussian, err)
	trig, err := rff.Draw(rff.SoftmaxTrig{Scale: 0.125}, w)
	both("trig", 2, trig, err)
	product, err := rff.Draw(rff.DotProduct{}, w)
	both("dotproduct", 1, product, err)
	ramp, err := rff.Draw(rff.ArcCosine{}, w)
	both("arccosine", 2, ramp, err)
	quadratic, err := rff.Draw[T](rff.Quadratic{D: d}, nil)
	both("quadratic", 0, quadratic, err)
	return all
}

func benchmarkTimed[T dense.Float](b *testing.B, typ string, backward bool) {
	const n, d, m = 4096, 64, 256
	for _, p := range timed[T](b, n, d, m) {
		b.Run(fmt.Sprintf("map=%s/type=%s/n=%d/d=%d/m=%d", p.name, typ, n, d, m), func(b *testing.B) {
			work := p.forward
			if backward {
				work = p.backward
			}
			b.ReportAllocs()
			for b.Loop() {
				work()
			}
			if backward && p.products > 0 {
				b.ReportMetric(2e-9*n*d*m*float64(p.products)*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
			}
		})
	}
}

// BenchmarkBackward takes gradients back: those of the logarithms for positive
// maps, but for positive-exp.
func BenchmarkBackward(b *testing.B) {
	benchmarkTimed[float32](b, "float32", true)
	benchmarkTimed[float64](b, "float64", true)
}

// BenchmarkForward transforms the same points, to compare.
func BenchmarkForward(b *testing.B) {
	benchmarkTimed[float32](b, "float32", false)
	benchmarkTimed[float64](b, "float64", false)
}
