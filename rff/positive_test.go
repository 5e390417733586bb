package rff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func TestLogTransformOfLargeNorms(t *testing.T) {
	densetest.Both(t, testLogTransformOfLargeNorms[float32], testLogTransformOfLargeNorms[float64])
}

func testLogTransformOfLargeNorms[T dense.Float](t *testing.T) {
	const m, d = 32, 6
	x := points[T](2, 5, d, 1)
	for i := range x.Rows {
		row, norm := x.Row(i), 0.0
		for _, v := range row {
			norm += float64(v) * float64(v)
		}
		for j := range row {
			row[j] *= T(30 / math.Sqrt(norm))
		}
	}
	w := must.Have(orf.Draw[T](orf.IID{}, m, d, exprand.NewSource(3)))
	positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	hyperbolic := must.Have(rff.Draw(rff.SoftmaxHyperbolic{Scale: 1}, w))
	logs, both := logs(positive).LogTransform(dense.Matrix[T]{}, x), logs(hyperbolic).LogTransform(dense.Matrix[T]{}, x)
	frequencies := dense.Copy(dense.Matrix[float64]{}, w.Frequencies())
	exact := dense.Copy(dense.Matrix[float64]{}, x)
	for i := range x.Rows {
		half := floats.Dot(exact.Row(i), exact.Row(i)) / 2
		for j := range m {
			dot := floats.Dot(frequencies.Row(j), exact.Row(i))
			size := half
			for l, v := range frequencies.Row(j) {
				size += d * math.Abs(v*exact.Row(i)[l])
			}
			tolerance := 4 * densetest.Roundoff[T]() * size
			assert.InDelta(t, dot-half-math.Log(m)/2, float64(logs.At(i, j)), tolerance)
			assert.InDelta(t, dot-half-math.Log(2*m)/2, float64(both.At(i, j)), tolerance)
			assert.InDelta(t, -dot-half-math.Log(2*m)/2, float64(both.At(i, m+j)), tolerance)
		}
	}
	if densetest.Roundoff[T]() == 0x1p-24 {
		for _, v := range positive.Transform(dense.Matrix[T]{}, x).Data {
			assert.Zero(t, v, "underflow in Transform, as documented")
		}
	}
}

func TestGeneralSchemeEqualsTheNamedMaps(t *testing.T) {
	densetest.Both(t, testGeneralSchemeEqualsTheNamedMaps[float32], testGeneralSchemeEqualsTheNamedMaps[float64])
}

func testGeneralSchemeEqualsTheNamedMaps[T dense.Float](t *testing.T) {
	w := must.Have(orf.Draw[T](orf.IID{}, 9, 4, exprand.NewSource(4)))
	f := func(g func(float64) float64) func(T) T { return func(t T) T { return T(g(float64(t))) } }
	h := func(sign float64) func([]T) T {
		return func(x []T) T {
			s := 0.0
			for _, v := range x {
				s += float64(v) * float64(v)
			}
			return T(math.Exp(sign * s / 2))
		}
	}
	gaussian := must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w))
	trig := must.Have(rff.Draw(rff.SoftmaxTrig{Scale: 1}, w))
	positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	relu := must.Have(rff.Draw(rff.ArcCosine{}, w))
	x := points[T](5, 66, 4, 0.5)
	for _, c := range []struct {
		name           string
		general, named rff.Map[T]
	}{
		{"gaussian", newMap(w, nil, f(math.Cos), f(math.Sin)), gaussian},
		{"softmax trig", newMap(w, h(1), f(math.Cos), f(math.Sin)), trig},
		{"softmax positive", newMap(w, h(-1), f(math.Exp)), positive},
		{"arc-cosine", newMap(w, nil, func(t T) T { return T(math.Sqrt2) * max(t, 0) }), relu},
	} {
		want := c.general.Transform(dense.Matrix[T]{}, x)
		for i, v := range c.named.Transform(dense.Matrix[T]{}, x).Data {
			// The logarithm of a feature is below 32 here, and so is its error in u.
			tolerance := 32 * densetest.Roundoff[T]() * (math.Abs(float64(want.Data[i])) + densetest.Roundoff[T]())
			assert.InDelta(t, float64(want.Data[i]), float64(v), tolerance, c.name)
		}
	}
}
