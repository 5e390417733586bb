package estimate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
)

// furthest returns the largest distance of the mean from the truth, in standard errors.
func furthest(s *moments, truth dense.Matrix[float64]) float64 {
	var z float64
	for i, x := range truth.Data {
		z = max(z, math.Abs(s.mean.Data[i]-x)/s.stderr(i))
	}
	return z
}

// With 10,000 replicates one of eight outputs exceeds 4 standard errors at one seed in 2000. The
// bias of the plain ratio and of wrong formulas is far larger.
func TestUnbiased(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	t.Parallel()
	const replicates, m, d = 10_000, 8, 2
	for _, causal := range []bool{false, true} {
		rng := rand.New(densetest.Source(60))
		q, k, v := densetest.Normal[float64](rng, 4, d, 0, 0.9), densetest.Normal[float64](rng, 4, d, 0, 0.9), densetest.Normal[float64](rng, 4, 2, 0, 1)
		truth := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}})).Forward(dense.Matrix[float64]{}, q, k, v)
		u := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: d, Softmax: performer.Softmax{Causal: causal}, MaxCost: math.Inf(1), Features: m, Frequencies: orf.IID{}}, densetest.Source(61)))
		u.damped = -0.2

		plain, unbiased := newMoments(4, 2), newMoments(4, 2)
		wrongP, wrongDelta := newMoments(4, 2), newMoments(4, 2)
		for range replicates {
			n := must.Have(u.replicate(t.Context(), m, q, k, v))
			plain.add(u.base)
			y0 := u.base.Clone()
			unbiased.add(u.combine(probability(n)))
			delta := u.base.Clone()
			for i, y := range y0.Data {
				delta.Data[i] = y + (delta.Data[i]-y)*probability(n)*math.Pow(2, float64(n))
			}
			wrongP.add(delta)
			for i, y := range y0.Data {
				delta.Data[i] = y + (u.ab.Data[i]-u.a.Data[i]-u.b.Data[i])/probability(n)
			}
			wrongDelta.add(delta)
		}
		lo := 0
		if causal {
			lo = 1 // the first row is its value, without any error
		}
		z := func(s *moments) float64 {
			part := &moments{n: s.n, mean: s.mean.RowRange(lo, 4), squares: s.squares.RowRange(lo, 4)}
			return furthest(part, truth.RowRange(lo, 4))
		}
		assert.Greater(t, z(plain), 10.0, "causal %v: the ratio alone", causal)
		assert.Less(t, z(unbiased), 4.0, "causal %v", causal)
		assert.Greater(t, z(wrongP), 6.0, "causal %v: P(n) = 2^(−n), drawn with another r", causal)
		assert.Greater(t, z(wrongDelta), 6.0, "causal %v: Δ without ½", causal)
	}
}

// Replicates in float32 equal replicates in float64 up to rounding, so that both have the same
// mean.
func TestReplicatesOfBothTypes(t *testing.T) {
	const m, d = 8, 2
	for _, causal := range []bool{false, true} {
		rng := rand.New(densetest.Source(60))
		q, k, v := densetest.Normal[float32](rng, 4, d, 0, 0.9), densetest.Normal[float32](rng, 4, d, 0, 0.9), densetest.Normal[float32](rng, 4, 2, 0, 1)
		q64, k64, v64 := dense.Copy(dense.Matrix[float64]{}, q), dense.Copy(dense.Matrix[float64]{}, k), dense.Copy(dense.Matrix[float64]{}, v)
		u := must.Have(NewUnbiased[float32](UnbiasedOptions{Dim: d, Softmax: performer.Softmax{Causal: causal}, MaxCost: math.Inf(1), Features: m, Frequencies: orf.IID{}}, densetest.Source(61)))
		u64 := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: d, Softmax: performer.Softmax{Causal: causal}, MaxCost: math.Inf(1), Features: m, Frequencies: orf.IID{}}, densetest.Source(61)))
		u.damped, u64.damped = -0.2, -0.2
		for range 300 {
			n := must.Have(u.replicate(t.Context(), m, q, k, v))
			require.Equal(t, must.Have(u64.replicate(t.Context(), m, q64, k64, v64)), n)
			want := u64.combine(probability(n))
			for i, y := range u.combine(probability(n)).Data {
				// Δ is a difference of rounded averages, over P(n).
				require.InDelta(t, want.Data[i], y, 1e-5/probability(n), "causal %v", causal)
			}
		}
	}
}

// Estimate returns the mean of its replicates, with the same bits for any number of processors.
func TestEstimate(t *testing.T) {
	densetest.Both(t, testEstimate[float32], testEstimate[float64])
}

func testEstimate[T dense.Float](t *testing.T) {
	const n, d, dv, replicates = 300, 8, 5, 4
	rng := rand.New(densetest.Source(62))
	q, k, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, dv, 0, 1)
	for _, causal := range []bool{false, true} {
		opts := UnbiasedOptions{Dim: d, Softmax: performer.Softmax{Causal: causal, Scale: 0.3}, MaxCost: math.Inf(1), Features: 16, Replicates: replicates}
		u := must.Have(NewUnbiased[T](opts, densetest.Source(63)))
		u.damped = u.damping(q, k)
		want := newMoments(n, dv)
		for range replicates {
			level := must.Have(u.replicate(t.Context(), 16, q, k, v))
			want.add(u.combine(probability(level)))
		}
		for _, processors := range []int{1, 2} {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			again := must.Have(NewUnbiased[T](opts, densetest.Source(63)))
			mean, stderr := dense.New[T](n, dv), dense.New[T](n, dv)
			_, _, err := again.Estimate(t.Context(), mean, stderr, q, k, v)
			require.NoError(t, err)
			for i, x := range want.mean.Data {
				require.Equal(t, T(x), mean.Data[i])
				require.Equal(t, T(want.stderr(i)), stderr.Data[i])
			}
		}
		truth := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: causal, Scale: 0.3}})).Forward(dense.Matrix[T]{}, q, k, v)
		assert.Less(t, densetest.Distance(dense.Copy(dense.Matrix[T]{}, want.mean), truth), 0.5, "Scale is that of exact attention")
	}
}

func TestUnbiasedOfLargeNorms(t *testing.T) {
	densetest.Both(t, testUnbiasedOfLargeNorms[float32], testUnbiasedOfLargeNorms[float64])
}

func testUnbiasedOfLargeNorms[T dense.Float](t *testing.T) {
	const n, d = 70, 16
	rng := rand.New(densetest.Source(66))
	for _, norm := range []float64{0, 30, 300, 1e5, 1e10} {
		q, k := densetest.Sphere[T](rng, n, d, norm), densetest.Sphere[T](rng, n, d, norm)
		for _, causal := range []bool{false, true} {
			u := must.Have(NewUnbiased[T](UnbiasedOptions{Dim: d, Softmax: performer.Softmax{Causal: causal, Scale: 1}, MaxCost: math.Inf(1), Features: 8}, densetest.Source(67)))
			mean, stderr, err := u.Estimate(t.Context(), dense.Matrix[T]{}, dense.Matrix[T]{}, q, k, densetest.Filled[T](n, 3, 1))
			require.NoError(t, err)
			for i, x := range mean.Data {
				require.Equal(t, T(1), x, "norm %v, causal %v", norm, causal)
				require.Zero(t, stderr.Data[i])
			}
			mean, _, err = u.Estimate(t.Context(), mean, stderr, q, k, densetest.Normal[T](rng, n, 3, 0, 1))
			require.NoError(t, err)
			require.True(t, layout.Finite(mean) && layout.Finite(stderr), "norm %v, causal %v", norm, causal)
		}
	}
}

func TestUnbiasedOfNaNAndNothing(t *testing.T) {
	rng := rand.New(densetest.Source(68))
	q, v := densetest.Normal[float32](rng, 9, 4, 0, 1), densetest.Normal[float32](rng, 9, 2, 0, 1)
	k := q.Clone()
	k.Row(5)[1] = float32(math.NaN())
	var none dense.Matrix[float32]
	for _, causal := range []bool{false, true} {
		u := must.Have(NewUnbiased[float32](UnbiasedOptions{Dim: 4, Softmax: performer.Softmax{Causal: causal}, MaxCost: math.Inf(1), Features: 8}, densetest.Source(69)))
		mean, stderr, err := u.Estimate(t.Context(), none, none, q, k, v)
		require.NoError(t, err)
		for i := range 9 {
			hit := !causal || i >= 5
			assert.Equal(t, !hit, layout.Finite(mean.RowRange(i, i+1)), "causal %v, row %d", causal, i)
			assert.Equal(t, !hit, layout.Finite(stderr.RowRange(i, i+1)), "causal %v, row %d", causal, i)
		}
	}
	u := must.Have(NewUnbiased[float32](UnbiasedOptions{Dim: 4, MaxCost: math.Inf(1)}, densetest.Source(69)))
	mean, stderr, err := u.Estimate(t.Context(), densetest.Filled[float32](9, 2, 7), densetest.Filled[float32](9, 2, 7), q, k.RowRange(0, 0), v.RowRange(0, 0))
	require.NoError(t, err)
	assert.Equal(t, dense.New[float32](9, 2), mean)
	assert.Equal(t, dense.New[float32](9, 2), stderr)
}

func TestUnbiasedRefuses(t *testing.T) {
	for _, c := range []struct {
		opts UnbiasedOptions
		src  rand.Source
		want string
	}{
		{UnbiasedOptions{}, densetest.Source(1), "Dim = 0"},
		{UnbiasedOptions{Dim: 2, Features: -1}, densetest.Source(1), "Features = -1"},
		{UnbiasedOptions{Dim: 2, Replicates: 1}, densetest.Source(1), "Replicates = 1,"},
		{UnbiasedOptions{Dim: 2}, nil, "src is nil"},
		{UnbiasedOptions{Dim: 2, Softmax: performer.Softmax{Scale: -1}}, densetest.Source(1), "scale"},
		{UnbiasedOptions{Dim: 2, MaxCost: -1}, densetest.Source(1), "MaxCost = -1, want a positive number, or 0 for 1"},
		{UnbiasedOptions{Dim: 2, MaxCost: math.NaN()}, densetest.Source(1), "MaxCost = NaN"},
		{UnbiasedOptions{Dim: 2, Frequencies: orf.Hadamard{Factors: -1}}, densetest.Source(1), "Hadamard.Factors = -1"},
	} {
		_, err := NewUnbiased[float64](c.opts, c.src)
		assert.ErrorContains(t, err, c.want)
	}
	u := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: 2, Softmax: performer.Softmax{Causal: true}, Features: 4, MaxCost: math.Inf(1)}, densetest.Source(1)))
	var none dense.Matrix[float64]
	mat, x := dense.New[float64], dense.New[float64](3, 2)
	estimate := func(mean, q, k, v dense.Matrix[float64]) func() {
		return func() { _, _, _ = u.Estimate(t.Context(), mean, none, q, k, v) }
	}
	assert.PanicsWithValue(t, "estimate: q is 3×4, k is 3×4, want points of R^2", estimate(none, mat(3, 4), mat(3, 4), mat(3, 1)))
	assert.Panics(t, estimate(none, x, mat(4, 2), mat(4, 1)), "causal")
	assert.Panics(t, estimate(mat(2, 1), x, x, mat(3, 1)), "mean")
	var nothing context.Context
	assert.PanicsWithValue(t, "estimate: ctx is nil", func() { _, _ = u.pilot(nothing, x, x, x) })
	assert.PanicsWithValue(t, "estimate: ctx is nil", func() { _, _, _ = u.Estimate(nothing, x, x, x, x, x) })

	// Estimate returns an error of a later draw of frequencies.
	draw, calls := u.frequencies, 0
	u.frequencies = func(m int) (orf.Projection[float64], error) {
		if calls++; calls == 3 {
			return nil, errors.New("no more")
		}
		return draw(m)
	}
	_, _, err := u.Estimate(t.Context(), none, none, x, x, x)
	assert.EqualError(t, err, "no more")
}
