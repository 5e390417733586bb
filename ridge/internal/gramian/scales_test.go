package gramian

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Slopes of both losses are differences of values.
func TestSlopes(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, weights := dense.New[float64](n, 4), dense.New[float64](n, 2), make([]float64, n)
	for i := range n {
		for j := range 4 {
			x.Set(i, j, 2*rng.Float64())
		}
		y.Set(i, 0, math.Sin(5*x.At(i, 0))+x.At(i, 1)+0.1*rng.NormFloat64())
		y.Set(i, 1, x.At(i, 2)+rng.NormFloat64())
		weights[i] = 1 + float64(i%3)
	}
	for _, k := range []kernels.Kernel{kernels.Gaussian{LengthScale: 0.8}, kernels.Matern{Nu: 0.5, LengthScale: 2}, kernels.Matern{LengthScale: 2}, kernels.Matern{Nu: 2.5}} {
		for _, evidence := range []bool{false, true} {
			of, _ := ProfileOf(k)
			s := &scales{ctx: t.Context(), profile: of, k: k, x: x, y: y, weights: weights, null: 1, evidence: evidence, least: math.Inf(1)}
			p := []float64{-0.5, 0.3, 0.1, 1, -3}
			s.at(p)
			slope := s.slope
			for j := range p {
				const h = 1e-5
				p[j] += h
				s.at(p)
				above := s.value
				p[j] -= 2 * h
				s.at(p)
				assert.InDelta(t, (above-s.value)/(2*h), slope[j], 1e-6, "%v, parameter %d, %v", k, j, evidence)
				p[j] += h
			}
		}
	}
}

// learning returns the rows and the first λ of a search on half of the rows and then on all.
func learning(outputs int) (x, y dense.Matrix[float64], weights []float64, first func(x, y dense.Matrix[float64], weights []float64) (float64, error)) {
	const n = 500
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, weights = dense.New[float64](n, 2), dense.New[float64](n, outputs), slices.Repeat([]float64{1}, n)
	for i := range n {
		x.Row(i)[0], x.Row(i)[1] = 2*rng.Float64(), 2*rng.Float64()
		y.Set(i, 0, math.Sin(4*x.At(i, 0))+0.1*rng.NormFloat64())
	}
	return x, y, weights, func(dense.Matrix[float64], dense.Matrix[float64], []float64) (float64, error) { return 0.01, nil }
}

// Targets that are the same in all rows, as those of a class without a row, have no evidence.
func TestScalesOfEqualTargets(t *testing.T) {
	x, y, weights, first := learning(2)
	found, err := LearnScales(t.Context(), kernels.Gaussian{LengthScale: 1}, x, y, weights, true, false, first)
	require.NoError(t, err)
	assert.Less(t, found.Loss, found.Start-0.1)
	assert.Greater(t, found.Logs[1], found.Logs[0]+0.5)
}

// ending is a context that ends after some questions.
type ending struct {
	context.Context
	left atomic.Int64
}

func (c *ending) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A context that ends at any time leaves the best length-scales so far.
func TestScalesWithinContext(t *testing.T) {
	x, y, weights, first := learning(1)
	whole := &ending{Context: t.Context()}
	whole.left.Store(math.MaxInt64)
	_, err := LearnScales(whole, kernels.Gaussian{LengthScale: 1}, x, y, weights, false, true, first)
	require.NoError(t, err)
	asked, learnt := math.MaxInt64-whole.left.Load(), false
	for k := range int64(12) {
		ctx := &ending{Context: t.Context()}
		ctx.left.Store(asked * (2*k + 1) / 24)
		found, err := LearnScales(ctx, kernels.Gaussian{LengthScale: 1}, x, y, weights, false, true, first)
		require.ErrorIs(t, err, context.Canceled)
		if k > 0 {
			assert.Less(t, found.Start, 1.0, k)
		}
		better := found.Loss < found.Start-0.05
		assert.False(t, learnt && !better, "%d: the length-scales are lost", k)
		learnt = learnt || better
	}
	assert.True(t, learnt)
}

// A search takes a bounded number of fits, also if the loss is that of one heavy row and hardly has
// a slope.
func TestScalesOfOneWeight(t *testing.T) {
	x, y, weights, _ := learning(1)
	fits := func(weight, ratio float64) int64 {
		weights[5] = weight
		ctx := &ending{Context: t.Context()}
		ctx.left.Store(math.MaxInt64)
		_, err := LearnScales(ctx, kernels.Gaussian{LengthScale: 1}, x, y, weights, false, false,
			func(dense.Matrix[float64], dense.Matrix[float64], []float64) (float64, error) { return ratio, nil })
		require.NoError(t, err)
		return math.MaxInt64 - ctx.left.Load()
	}
	assert.Less(t, fits(1e12, 1e11), 3*fits(1, 0.01))
}
