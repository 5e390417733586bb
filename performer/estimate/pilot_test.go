package estimate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
)

// tokens returns queries and keys of R^4 with elements N(0, size²), and two values each.
func tokens[T dense.Float](n int, size float64) (q, k, v dense.Matrix[T]) {
	rng := rand.New(densetest.Source(70))
	return densetest.Normal[T](rng, n, 4, 0, size), densetest.Normal[T](rng, n, 4, 0, size), densetest.Normal[T](rng, n, 2, 0, 1)
}

// Larger norms need more features in a block. The variance of replicates is the prediction of the
// pilot.
func TestPilot(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testPilot[float32], testPilot[float64])
}

func testPilot[T dense.Float](t *testing.T) {
	before := 0
	for _, size := range []float64{0, 0.5, 0.8, 1.1} {
		q, k, v := tokens[T](40, size)
		u := must.Have(NewUnbiased[T](UnbiasedOptions{Dim: 4, MaxCost: math.Inf(1)}, densetest.Source(71)))
		p, err := u.pilot(t.Context(), q, k, v)
		require.NoError(t, err)
		require.True(t, p.settled, p.reason)
		assert.Empty(t, p.reason)
		assert.GreaterOrEqual(t, p.features, max(8, before), "size %v", size)
		assert.LessOrEqual(t, p.correction, p.variance)
		if size > 0 {
			u := must.Have(NewUnbiased[T](UnbiasedOptions{Dim: 4, MaxCost: math.Inf(1), Features: p.features, Replicates: 300}, densetest.Source(72)))
			_, stderr, err := u.Estimate(t.Context(), dense.Matrix[T]{}, dense.Matrix[T]{}, q, k, v)
			require.NoError(t, err)
			var variance float64
			for _, e := range stderr.Data {
				variance += 300 * math.Pow(float64(e), 2)
			}
			assert.InDelta(t, 1.1, (p.variance+p.correction)/variance, 0.4, "size %v", size)
		}
		before = p.features
	}
	assert.Greater(t, before, 8)
}

// measured returns the first of 8, 16, … features at which 5.3·E‖Δ₁‖² is not above Var(Y₀)
// in 16 trials of u, whose features are those of rff.SoftmaxPositive.
func measured(t *testing.T, u *Unbiased[float64], q, k, v dense.Matrix[float64]) int {
	for m := minFeatures; ; m *= 2 {
		var variance, square float64
		for range 16 {
			_, err := u.replicate(t.Context(), m, q, k, v)
			require.NoError(t, err)
			require.NoError(t, u.halves(t.Context(), 1, m, q, k, v))
			for i, a := range u.a.Data {
				b := u.b.Data[i]
				variance += (a - b) * (a - b) / 2
				square += math.Pow(u.ab.Data[i]-(a+b)/2, 2)
			}
		}
		if 5.3*square <= variance || m == maxFeatures {
			return m
		}
	}
}

// A pilot is not settled for queries that need more than 4096 features, and for NaN and infinite
// inputs.
func TestPilotSaysWhy(t *testing.T) {
	rng := rand.New(densetest.Source(73))
	q, v := densetest.Sphere[float64](rng, 40, 8, 12), densetest.Normal[float64](rng, 40, 2, 0, 1)
	u := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: 8, Softmax: performer.Softmax{Scale: 1}, MaxCost: math.Inf(1)}, densetest.Source(74)))
	for norm, want := range map[float64]string{1: "queries and keys are too long for d = 8", 30: "queries and keys are too long for d = 8", 1e6: "Scale·‖x‖² = 1.44e+14"} {
		x := q.Clone()
		for i := range x.Data {
			x.Data[i] *= norm
		}
		p, err := u.pilot(t.Context(), x, x, v)
		require.NoError(t, err)
		assert.False(t, p.settled)
		assert.Contains(t, p.reason, want)
		assert.Equal(t, maxFeatures, p.features)
		features, err := u.Pilot(t.Context(), x, x, v)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, maxFeatures, features)
	}
	q, k := densetest.Normal[float64](rng, 40, 8, 0, 0.5), densetest.Normal[float64](rng, 40, 8, 0, 0.5)
	// A pilot reads the longest queries.
	k.Row(30)[0], q.Row(20)[0] = 40, 40
	p, err := u.pilot(t.Context(), q, k, v)
	require.NoError(t, err)
	assert.Contains(t, p.reason, "queries and keys are too long for d = 8")
	for _, x := range []dense.Matrix[float64]{q, k, v} {
		was := x.Row(3)[0]
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x.Row(3)[0] = bad
			p, err := u.pilot(t.Context(), q, k, v)
			require.NoError(t, err)
			assert.False(t, p.settled)
			assert.Contains(t, p.reason, "NaN or ±Inf")
			assert.Equal(t, minFeatures, p.features)
		}
		x.Row(3)[0] = was
	}
}

// Inputs that need no features: no queries, keys or values, one key, and equal values.
func TestPilotOfCertainties(t *testing.T) {
	rng := rand.New(densetest.Source(75))
	q, k, v := densetest.Normal[float32](rng, 9, 4, 0, 3), densetest.Normal[float32](rng, 9, 4, 0, 3), densetest.Normal[float32](rng, 9, 2, 0, 1)
	u := must.Have(NewUnbiased[float32](UnbiasedOptions{Dim: 4, MaxCost: math.Inf(1)}, densetest.Source(76)))
	for _, in := range [][3]dense.Matrix[float32]{
		{q.RowRange(0, 0), k, v}, {q, k.RowRange(0, 0), v.RowRange(0, 0)}, {q, k, v.ColRange(0, 0)},
		{q, k.RowRange(0, 1), v.RowRange(0, 1)}, {q, k, densetest.Filled[float32](9, 2, 0.1)},
	} {
		p, err := u.pilot(t.Context(), in[0], in[1], in[2])
		require.NoError(t, err)
		assert.Equal(t, pilot{features: minFeatures, settled: true}, p)
	}
}

// At least 93 % of the elements of exact attention are within 2 standard errors of the default
// estimate, and at least 93 % of sums of elements with random factors. The expected share is 94.6 %
// for normal errors. Over 250 runs the share of elements has a standard deviation of at most 0.5 %,
// and the share of 6 sums at two norms has about the same, so that each has one false alarm in
// 1000 seeds. Undamped features with the m₀ of 16 trials and 16 replicates have a far smaller
// share.
func TestStandardErrorsCover(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	t.Parallel()
	var sums float64
	for _, size := range []float64{0.5, 1.1} {
		u := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: 4, MaxCost: math.Inf(1), Frequencies: orf.IID{}}, densetest.Source(78)))
		elements, ofSums := coverage(t, u, size, 250, func(q, k, v dense.Matrix[float64]) int {
			p, err := u.pilot(t.Context(), q, k, v)
			require.NoError(t, err)
			u.damped = u.damping(q, k)
			return p.features
		})
		assert.Greater(t, elements, 0.93, "elements, size %v", size)
		sums += ofSums / 2
	}
	assert.Greater(t, sums, 0.93, "sums")
	u := must.Have(NewUnbiased[float64](UnbiasedOptions{Dim: 4, MaxCost: math.Inf(1), Replicates: 16, Frequencies: orf.IID{}}, densetest.Source(79)))
	elements, _ := coverage(t, u, 1.1, 60, func(q, k, v dense.Matrix[float64]) int { return measured(t, u, q, k, v) })
	assert.Less(t, elements, 0.9)
}

// coverage returns the share of elements of exact attention of 24 tokens within 2 standard errors
// of estimates by u, and the share of sums of all elements with random factors. coverage calls
// features before every tenth estimate.
func coverage(t *testing.T, u *Unbiased[float64], size float64, runs int, features func(q, k, v dense.Matrix[float64]) int) (elements, sums float64) {
	q, k, v := tokens[float64](24, size)
	truth := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, q, k, v)
	factors := densetest.Normal[float64](rand.New(densetest.Source(77)), 6, len(truth.Data), 0, 1)
	project := func(x dense.Matrix[float64]) dense.Matrix[float64] {
		y := dense.New[float64](1, factors.Rows)
		for i := range y.Data {
			y.Data[i] = vecmath.Dot(factors.Row(i), x.Data)
		}
		return y
	}
	covered := func(s *moments, truth dense.Matrix[float64]) (share float64) {
		for i, x := range truth.Data {
			if math.Abs(s.mean.Data[i]-x) <= 2*s.stderr(i) {
				share += 1 / float64(len(truth.Data)*runs)
			}
		}
		return share
	}
	var m int
	for run := range runs {
		if run%10 == 0 {
			m = features(q, k, v)
		}
		each, projected := newMoments(truth.Rows, truth.Cols), newMoments(1, factors.Rows)
		for range u.opts.Replicates {
			y := u.combine(probability(must.Have(u.replicate(t.Context(), m, q, k, v))))
			each.add(y)
			projected.add(project(y))
		}
		elements += covered(each, truth)
		sums += covered(projected, project(truth))
	}
	return elements, sums
}
