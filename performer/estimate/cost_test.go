package estimate

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
)

// counting makes u call a function with the number of each draw of frequencies, counted from 1.
func counting[T dense.Float](u *Unbiased[T], call func(n int)) {
	draw, n := u.frequencies, 0
	u.frequencies = func(m int) (orf.Projection[T], error) {
		n++
		call(n)
		return draw(m)
	}
}

// Estimate and Pilot draw nothing if exact attention is cheaper.
func TestUnbiasedRefusesToCostMore(t *testing.T) {
	densetest.Both(t, testUnbiasedRefusesToCostMore[float32], testUnbiasedRefusesToCostMore[float64])
}

func testUnbiasedRefusesToCostMore[T dense.Float](t *testing.T) {
	q, k, v := tokens[T](500, 0.5)
	for _, features := range []int{0, 8} {
		for _, causal := range []bool{false, true} {
			calls := 0
			u := must.Have(NewUnbiased[T](UnbiasedOptions{Dim: 4, Softmax: performer.Softmax{Causal: causal}, Features: features}, densetest.Source(320)))
			counting(u, func(int) { calls++ })
			mean := densetest.Filled[T](500, 2, 7)
			_, _, err := u.Estimate(t.Context(), mean, dense.Matrix[T]{}, q, k, v)
			require.ErrorIs(t, err, ErrCost)
			assert.Regexp(t, `^estimate: the estimate costs too much: 32 replicates with m₀ = 8 take [0-9.e+]+ multiply-adds, `+
				`pilot included; MaxCost = [0-9.e+]+ allows that times the [0-9.e+]+ of exact attention$`, err.Error())
			assert.Equal(t, densetest.Filled[T](500, 2, 7), mean)
			_, err = u.pilot(t.Context(), q, k, v)
			require.ErrorIs(t, err, ErrCost)
			assert.Zero(t, calls)
		}
	}
	// Outputs without queries, keys or values have no cost.
	u := must.Have(NewUnbiased[T](UnbiasedOptions{Dim: 4}, densetest.Source(320)))
	for _, in := range [][3]dense.Matrix[T]{{q.RowRange(0, 0), k, v}, {q, k.RowRange(0, 0), v.RowRange(0, 0)}, {q, k, v.ColRange(0, 0)}} {
		_, _, err := u.Estimate(t.Context(), dense.Matrix[T]{}, dense.Matrix[T]{}, in[0], in[1], in[2])
		assert.NoError(t, err)
	}
}

// MaxCost bounds the cost of a pilot plus the mean cost of the replicates.
func TestMaxCost(t *testing.T) {
	q, k, v := tokens[float64](100, 0.8)
	limited := func(features int, most float64) *Unbiased[float64] {
		return must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: 4, Features: features, Replicates: 2, MaxCost: most}, densetest.Source(321)))
	}
	estimate := func(u *Unbiased[float64]) error {
		_, _, err := u.Estimate(t.Context(), dense.Matrix[float64]{}, dense.Matrix[float64]{}, q, k, v)
		return err
	}
	free := limited(0, math.Inf(1))
	cost := free.cost(q, k, v)
	limit := cost.estimate(64) / cost.exact
	assert.NoError(t, estimate(limited(64, limit*(1+1e-9))))
	assert.ErrorIs(t, estimate(limited(64, limit*(1-1e-9))), ErrCost)
	assert.NoError(t, estimate(free))

	// A pilot ends when its m₀ so far is too expensive.
	p, err := limited(0, math.Inf(1)).pilot(t.Context(), q, k, v)
	require.NoError(t, err)
	require.Greater(t, p.features, 2*minFeatures)
	limit = (cost.rounds(p.features/minFeatures) + cost.estimate(p.features)) / cost.exact
	for share, ok := range map[float64]bool{0.9: false, 4: true} {
		got, err := limited(0, share*limit).pilot(t.Context(), q, k, v)
		if ok {
			require.NoError(t, err)
			assert.Equal(t, p, got)
			continue
		}
		require.ErrorIs(t, err, ErrCost)
		assert.Greater(t, cost.rounds(got.features/minFeatures)+cost.estimate(got.features), 0.9*limit*cost.exact, "the m₀ that is refused")
	}

	// A pilot that is not settled returns 4096 features.
	x := q.Clone()
	for i := range x.Data {
		x.Data[i] *= 1e5
	}
	u := limited(0, 2*cost.estimate(2048)/cost.exact)
	got, err := u.pilot(t.Context(), x, x, v)
	require.NoError(t, err)
	assert.Equal(t, maxFeatures, got.features)
	_, _, err = limited(0, cost.estimate(2048)/cost.exact).Estimate(t.Context(), dense.Matrix[float64]{}, dense.Matrix[float64]{}, x, x, v)
	assert.ErrorContains(t, err, "m₀ = 4096")
}

// The mean number of blocks of a replicate, and numbers of tokens at which an estimate is cheaper
// or more expensive than exact attention.
func TestEstimateCost(t *testing.T) {
	blocks := 1.0
	for n := 1; n < 200; n++ {
		blocks += probability(n) * math.Pow(2, float64(n))
	}
	assert.InEpsilon(t, blocks, replicateBlocks, 1e-9)
	q, k, v := tokens[float64](9, 0.5)
	u := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: 4, Features: 8}, densetest.Source(322)))
	drawn := 0
	counting(u, func(int) { drawn++ })
	for range 50 {
		drawn = 0
		n := must.Have(u.replicate(t.Context(), 8, q, k, v))
		require.Equal(t, 1+1<<n, drawn, "blocks of a replicate")
	}
	wide := must.Have(NewUnbiased[float32](UnbiasedOptions{Dim: 64}, densetest.Source(322)))
	for n, cheaper := range map[int]bool{10_000: false, 1_000_000: true} {
		// A view with stride 0 has n rows in the memory of one row.
		x := dense.Matrix[float32]{Rows: n, Cols: 64, Data: make([]float32, 64), Stride: 0}
		err := wide.cost(x, x, x).check(1, minFeatures)
		assert.Equal(t, cheaper, err == nil, "%d tokens: %v", n, err)
		assert.Error(t, wide.cost(x, x, x).check(maxFeatures/minFeatures, maxFeatures), "%d tokens", n)
	}
}

// ending is a context that ends after a number of looks at it.
type ending struct {
	context.Context
	left, looks int
}

func (c *ending) Err() error {
	if c.looks++; c.looks > c.left {
		return context.Canceled
	}
	return nil
}

// The end of a context ends an estimate before the next block of features or the next query of a
// pilot.
func TestUnbiasedContext(t *testing.T) {
	q, k, v := tokens[float32](50, 0.8)
	for _, features := range []int{0, 16} {
		for _, last := range []int{0, 1, 2, 7, 50} {
			u := must.Have(NewUnbiased[float32](UnbiasedOptions{Dim: 4, Features: features, MaxCost: math.Inf(1)}, densetest.Source(323)))
			ctx, mean := &ending{Context: context.Background(), left: last}, densetest.Filled[float32](50, 2, 7)
			_, _, err := u.Estimate(ctx, mean, dense.Matrix[float32]{}, q, k, v)
			assert.ErrorIs(t, err, context.Canceled)
			assert.EqualError(t, err, "estimate: context canceled")
			assert.Equal(t, last+1, ctx.looks, "no look after the end")
			assert.Equal(t, densetest.Filled[float32](50, 2, 7), mean)
			ctx.looks = 0
			_, err = u.pilot(ctx, q, k, v)
			assert.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, last+1, ctx.looks, "no look after the end")
		}
	}
}
