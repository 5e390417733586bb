package ard_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

// far returns rows whose coordinates and targets are multiples of 1/16 about the mean, exact in
// float32.
func far[T dense.Float](n int, xMean, yMean float64) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(5, 6))
	b := ridge.Block[T]{X: dense.New[T](n, 2), Y: dense.New[T](n, 1)}
	round := func(v float64) float64 { return math.Round(16*v) / 16 }
	for i := range n {
		u, v := round(rng.NormFloat64()), round(2*rng.NormFloat64())
		b.X.Set(i, 0, T(xMean+u))
		b.X.Set(i, 1, T(xMean+v))
		b.Y.Set(i, 0, T(yMean+round(2*math.Sin(2*u)+0.3*rng.NormFloat64())))
	}
	return b
}

// The derivative by the noise is a difference quotient of the evidence in float64, which does not
// depend on the mean of the targets.
func testLargeTargets[T dense.Float](t *testing.T) {
	evidence := func(noise float64) float64 {
		e := must.Have(ard.Evaluate(t.Context(), gaussian[float64](t, 32, 2), far[float64](300, 0, 0), []float64{1, 2}, ridge.Options{Noise: noise, Prior: 1}))
		return e.Model.LogEvidence()
	}
	const noise, h = 0.1, 1e-3
	want := (evidence(noise*math.Exp(h)) - evidence(noise*math.Exp(-h))) / (2 * h)
	for _, mean := range []float64{0, 1e6} {
		e := must.Have(ard.Evaluate(t.Context(), gaussian[T](t, 32, 2), far[T](300, 0, mean), []float64{1, 2}, ridge.Options{Noise: noise, Prior: 1}))
		assert.InDelta(t, want, e.Noise[0], 1e-3, "mean %g", mean)
	}
}

func TestLargeTargets(t *testing.T) {
	densetest.Both(t, testLargeTargets[float32], testLargeTargets[float64])
}

// Points far from 0 have the scales and the evidence that they have around 0 in float64.
func testLargePoints[T dense.Float](t *testing.T) {
	want := must.Have(ard.Fit(t.Context(), gaussian[float64](t, 32, 2), far[float64](300, 0, 0), ard.Options{}, rand.NewPCG(1, 2)))
	for _, mean := range []float64{0, 1e6} {
		got := must.Have(ard.Fit(t.Context(), gaussian[T](t, 32, 2), far[T](300, mean, 0), ard.Options{}, rand.NewPCG(1, 2)))
		assert.InDeltaSlice(t, want.Relevance, got.Relevance, 1e-4, "mean %g", mean)
		assert.InDelta(t, want.Model.LogEvidence(), got.Model.LogEvidence(), 1e-3, "mean %g", mean)
	}
}

func TestLargePoints(t *testing.T) {
	densetest.Both(t, testLargePoints[float32], testLargePoints[float64])
}
