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

// Larger norms need more features in a block, and the variance of replicates is what the
// pilot says.
func TestPilot(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testPilot[float32], testPilot[float64])
}

func testPilot[T dense.Float](t *testing.T) {
	before := 0
	for _, size := range []float64{0, 0.5, 0.8, 1.1} {
		q, k, v := tokens[T](40, size)
		u := must.Have(NewUnbiased[T](4, UnbiasedOptions{MaxCost: math.Inf(1)}, densetest.Source(71)))
		p, err := u.Pilot(t.Context(), q, k, v)
		require.NoError(t, err)
		require.True(t, p.Settled, p.Reason)
		assert.Empty(t, p.Reason)
		assert.GreaterOrEqual(t, p.Features, max(8, before), "size %v", size)
		assert.LessOrEqual(t, p.Correction, p.Variance)
		if size > 0 {
			u := must.Have(NewUnbiased[T](4, UnbiasedOptions{MaxCost: math.Inf(1), Features: p.Features, Replicates: 300}, densetest.Source(72)))
			_, stderr, err := u.Estimate(t.Context(), dense.Matrix[T]{}, dense.Matrix[T]{}, q, k, v)
			require.NoError(t, err)
			var variance float64
			for _, e := range stderr.Data {
				variance += 300 * math.Pow(float64(e), 2)
			}
			assert.InDelta(t, 1.1, (p.Variance+p.Correction)/variance, 0.4, "size %v", size)
		}
		before = p.Features
	}
	assert.Greater(t, before, 8)
}

// The queries and frequencies that a pilot looks at change m₀ by a factor of 2 at most, where
// trials of undamped features, of which a rare one decides, change it by 8 and more.
func TestPilotIsStable(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	t.Parallel()
	q, k, v := tokens[float64](48, 1.1)
	least, most := math.MaxInt, 0
	leastMeasured, mostMeasured := math.MaxInt, 0
	for seed := range uint64(30) {
		u := must.Have(NewUnbiased[float64](4, UnbiasedOptions{MaxCost: math.Inf(1), Frequencies: orf.IID{}}, densetest.Source(seed)))
		p, err := u.Pilot(t.Context(), q, k, v)
		require.NoError(t, err)
		least, most = min(least, p.Features), max(most, p.Features)
		m := measured(t, u, q, k, v)
		leastMeasured, mostMeasured = min(leastMeasured, m), max(mostMeasured, m)
	}
	assert.LessOrEqual(t, most, 2*least, "%d to %d", least, most)
	assert.GreaterOrEqual(t, mostMeasured, 8*leastMeasured, "%d to %d", leastMeasured, mostMeasured)
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

// Queries that no number of features is enough for, and what nothing can be said about.
func TestPilotSaysWhy(t *testing.T) {
	rng := rand.New(densetest.Source(73))
	q, v := densetest.Sphere[float64](rng, 40, 8, 12), densetest.Normal[float64](rng, 40, 2, 0, 1)
	u := must.Have(NewUnbiased[float64](8, UnbiasedOptions{MaxCost: math.Inf(1), Scale: 1}, densetest.Source(74)))
	for norm, want := range map[float64]string{1: "queries and keys are too long for d = 8", 30: "queries and keys are too long for d = 8", 1e6: "Scale·‖x‖² = 1.44e+14"} {
		x := q.Clone()
		for i := range x.Data {
			x.Data[i] *= norm
		}
		p, err := u.Pilot(t.Context(), x, x, v)
		require.NoError(t, err)
		assert.False(t, p.Settled)
		assert.Contains(t, p.Reason, want)
		assert.Equal(t, maxFeatures, p.Features)
	}
	q, k := densetest.Normal[float64](rng, 40, 8, 0, 0.5), densetest.Normal[float64](rng, 40, 8, 0, 0.5)
	// Long queries are never missed.
	k.Row(30)[0], q.Row(20)[0] = 40, 40
	p, err := u.Pilot(t.Context(), q, k, v)
	require.NoError(t, err)
	assert.Contains(t, p.Reason, "queries and keys are too long for d = 8")
	for _, x := range []dense.Matrix[float64]{q, k, v} {
		was := x.Row(3)[0]
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x.Row(3)[0] = bad
			p, err := u.Pilot(t.Context(), q, k, v)
			require.NoError(t, err)
			assert.False(t, p.Settled)
			assert.Contains(t, p.Reason, "NaN or ±Inf")
			assert.Equal(t, minFeatures, p.Features)
		}
		x.Row(3)[0] = was
	}
}

// What needs no features at all: nothing to estimate, one key, and values that agree.
func TestPilotOfCertainties(t *testing.T) {
	rng := rand.New(densetest.Source(75))
	q, k, v := densetest.Normal[float32](rng, 9, 4, 0, 3), densetest.Normal[float32](rng, 9, 4, 0, 3), densetest.Normal[float32](rng, 9, 2, 0, 1)
	u := must.Have(NewUnbiased[float32](4, UnbiasedOptions{MaxCost: math.Inf(1)}, densetest.Source(76)))
	for _, in := range [][3]dense.Matrix[float32]{
		{q.RowRange(0, 0), k, v}, {q, k.RowRange(0, 0), v.RowRange(0, 0)}, {q, k, v.ColRange(0, 0)},
		{q, k.RowRange(0, 1), v.RowRange(0, 1)}, {q, k, densetest.Filled[float32](9, 2, 0.1)},
	} {
		p, err := u.Pilot(t.Context(), in[0], in[1], in[2])
		require.NoError(t, err)
		assert.Equal(t, Pilot{Features: minFeatures, Settled: true}, p)
	}
}

// Exact attention is within 2 standard errors of the default estimate for 93 % of elements,
// and for 93 % of sums of them with random factors. 94.6 % is what to expect of normal
// errors. Of 250 runs the share of elements has a standard deviation of 0.5 % at most, the
// share of 6 sums at three norms about as much: a false alarm in 1000 each. Features that
// are not damped, with the m₀ that 16 trials show and 16 replicates, are far below.
func TestStandardErrorsCover(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	t.Parallel()
	var sums float64
	for _, size := range []float64{0.5, 0.8, 1.1} {
		u := must.Have(NewUnbiased[float64](4, UnbiasedOptions{MaxCost: math.Inf(1), Frequencies: orf.IID{}}, densetest.Source(78)))
		elements, ofSums := coverage(t, u, size, 250, func(q, k, v dense.Matrix[float64]) int {
			p, err := u.Pilot(t.Context(), q, k, v)
			require.NoError(t, err)
			u.damped = u.damping(q, k)
			return p.Features
		})
		assert.Greater(t, elements, 0.93, "elements, size %v", size)
		sums += ofSums / 3
	}
	assert.Greater(t, sums, 0.93, "sums")
	u := must.Have(NewUnbiased[float64](4, UnbiasedOptions{MaxCost: math.Inf(1), Replicates: 16, Frequencies: orf.IID{}}, densetest.Source(79)))
	elements, _ := coverage(t, u, 1.1, 60, func(q, k, v dense.Matrix[float64]) int { return measured(t, u, q, k, v) })
	assert.Less(t, elements, 0.9)
}

// coverage returns the share of elements of exact attention of 24 tokens, and that of sums of
// all elements with random factors, within 2 standard errors of estimates by u, with the
// number of features that a function returns before every tenth of them.
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
