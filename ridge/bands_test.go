package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// The ratios are those of fits without each row, with the same λ and noise, also at rows that the
// span of landmarks misses.
func testJackknife[T dense.Float](t *testing.T) {
	x, _ := friedman[T](8, 5, 1)
	landmarks, err := rff.Nystroem(kernels.Gaussian{LengthScale: 1}, x)
	require.NoError(t, err)
	for _, phi := range []rff.Map[T]{gaussian[T](t, 8, 5, 2, 1), landmarks} {
		testJackknifeOf(t, phi)
	}
}

func testJackknifeOf[T dense.Float](t *testing.T, phi rff.Map[T]) {
	const n = 30
	x, y := friedman[T](n, 5, 1)
	weights := make([]T, n)
	for i := range weights {
		weights[i] = 0.5 + T(i%3)
	}
	m, err := sumOf(t, phi, x, y, weights).Fit(t.Context(), ridge.Options{})
	require.NoError(t, err)
	ratios, err := m.Jackknife(dense.Matrix[T]{}, x, y, weights)
	require.NoError(t, err)
	o := ridge.Options{Noise: m.Noise()[0], Prior: m.Prior()[0]}
	for i := range n {
		without := append([]T(nil), weights...)
		without[i] = 0
		rest, err := sumOf(t, phi, x, y, without).Fit(t.Context(), o)
		require.NoError(t, err)
		mean, sd := rest.Posterior(x.RowRange(i, i+1))
		deviation := math.Sqrt(math.Pow(float64(sd.At(0, 0)), 2) + o.Noise/float64(weights[i]))
		want := math.Abs(float64(y.At(i, 0))-float64(mean.At(0, 0))) / deviation
		assert.InDelta(t, want, float64(ratios.At(i, 0)), 1e5*densetest.Roundoff[T](), "row %d", i)
	}
	weights[3] = 0
	_, err = m.Jackknife(dense.Matrix[T]{}, x, y, weights)
	assert.EqualError(t, err, "ridge: weights[3] = 0, want a positive number")
}

func TestJackknife(t *testing.T) { densetest.Both(t, testJackknife[float32], testJackknife[float64]) }

// Noise with rare large values: bands of the normal law are too wide, and bands of the jackknife
// hold their share of 4000 other rows, within four standard errors of 400 rows and of 4000.
func TestBandsHoldTheirShare(t *testing.T) {
	draw := func(n int, seed uint64) (x, y dense.Matrix[float64]) {
		rng := rand.New(rand.NewPCG(seed, 1))
		x, y = dense.New[float64](n, 1), dense.New[float64](n, 1)
		for i := range n {
			x.Set(i, 0, 6*rng.Float64())
			noise := rng.NormFloat64() / 10
			if rng.IntN(20) == 0 {
				noise *= 30
			}
			y.Set(i, 0, math.Sin(x.At(i, 0))+noise)
		}
		return x, y
	}
	x, y := draw(400, 1)
	others, targets := draw(4000, 2)
	m, err := ridge.Fit(t.Context(), gaussian[float64](t, 16, 1, 1, 1), ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	share := func(m *ridge.Model[float64], level float64) float64 {
		mean, half := m.Band(others, level)
		inside := 0.0
		for i := range others.Rows {
			if math.Abs(targets.At(i, 0)-mean.At(i, 0)) <= half.At(i, 0) {
				inside += 1.0 / float64(others.Rows)
			}
		}
		return inside
	}
	assert.Greater(t, share(m, 0.9), 0.94, "normal")
	ratios, err := m.Jackknife(dense.Matrix[float64]{}, x, y, nil)
	require.NoError(t, err)
	errs, err := m.LeaveOneOut(dense.Matrix[float64]{}, x, y, nil)
	require.NoError(t, err)
	for i, e := range errs.Data {
		errs.Data[i] = math.Abs(e)
	}
	for _, relative := range []bool{true, false} {
		of := errs
		if relative {
			of = ratios
		}
		with, err := m.WithBands(ridge.Bands[float64]{Errors: of, Relative: relative})
		require.NoError(t, err)
		for _, level := range []float64{0.5, 0.9} {
			assert.InDelta(t, level, share(with, level), 4*math.Sqrt(level*(1-level)*(1.0/400+1.0/4000)), "level %v, relative %v", level, relative)
		}
		mean, half := with.Band(others.RowRange(0, 1), 0.9)
		one, width := reread(t, with, ridge.ReadModel[float64]).Band(others.RowRange(0, 1), 0.9)
		assert.Equal(t, mean, one)
		assert.Equal(t, half, width)
	}
	assert.Greater(t, share(m, 0.9), 0.94, "the model itself is unchanged")
}

func TestBandErrors(t *testing.T) {
	x, y := friedman[float64](30, 5, 1)
	identity, err := rff.Draw[float64](rff.Identity{D: 5}, nil)
	require.NoError(t, err)
	m, err := ridge.Fit(t.Context(), identity, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	_, err = m.WithBands(ridge.Bands[float64]{Errors: dense.Matrix[float64]{}, Relative: true})
	assert.EqualError(t, err, "ridge: errors are 0×0, want at least one row and 1 columns")
	_, err = m.WithBands(ridge.Bands[float64]{Errors: dense.Of(2, 1, []float64{1, -1}), Relative: true})
	assert.EqualError(t, err, "ridge: errors[0] = -1, want a finite number from 0 on")
	_, err = m.WithBands(ridge.Bands[float64]{Errors: dense.Of(1, 1, []float64{math.NaN()}), Relative: true})
	assert.EqualError(t, err, "ridge: errors[0] = NaN, want a finite number from 0 on")
	_, err = new(ridge.Model[float64]).WithBands(ridge.Bands[float64]{Errors: dense.New[float64](1, 1), Relative: true})
	assert.ErrorContains(t, err, "Model is zero")
	for _, level := range []float64{0, 1, math.NaN()} {
		assert.Panics(t, func() { m.Band(x, level) })
	}
	with, err := m.WithBands(ridge.Bands[float64]{Errors: dense.Of(3, 1, []float64{3, 1, 2})})
	require.NoError(t, err)
	_, half := with.Band(x.RowRange(0, 1), 0.5)
	assert.Equal(t, 2.0, half.At(0, 0))
}

// The half width of n errors is the ⌈k·(n + 1)/100⌉-th at the level k/100, in whole numbers, and
// +Inf if n errors are too few for the level.
func testRankOfBands[T dense.Float](t *testing.T) {
	x := dense.Of(4, 1, []T{1, 2, 3, 5})
	identity, err := rff.Draw[T](rff.Identity{D: 1}, nil)
	require.NoError(t, err)
	m, err := ridge.Fit(t.Context(), identity, ridge.Block[T]{X: x, Y: dense.Of(4, 1, []T{1, 0, 1, 0})}, ridge.Options{})
	require.NoError(t, err)
	var errs []float64
	for n := 1; n <= 200; n++ {
		errs = append(errs, float64(n))
		with, err := m.WithBands(ridge.Bands[T]{Errors: dense.Of(n, 1, errs)})
		require.NoError(t, err)
		for k := 1; k < 100; k++ {
			want := T((k*(n+1) + 99) / 100)
			if want > T(n) {
				want = T(math.Inf(1))
			}
			_, half := with.Band(x.RowRange(0, 1), float64(k)/100)
			require.Equal(t, want, half.At(0, 0), "%d errors at %d/100", n, k)
		}
	}
}

func TestRankOfBands(t *testing.T) {
	densetest.Both(t, testRankOfBands[float32], testRankOfBands[float64])
}

// The noise is exp(x) for x in (0, 2). Bands of Logs hold their share in both halves of the
// range, and bands of equal width miss one in six targets of the noisy half, within four standard
// errors. The file has the same bands.
func testNoise[T dense.Float](t *testing.T) {
	const n = 1000
	draw := func(n int, seed uint64) (x, y dense.Matrix[T]) {
		rng := rand.New(rand.NewPCG(seed, 1))
		x, y = dense.New[T](n, 1), dense.New[T](n, 2)
		for i := range n {
			v := 2 * rng.Float64()
			x.Set(i, 0, T(v))
			y.Set(i, 0, T(math.Sin(v)+math.Exp(v)*rng.NormFloat64()))
			y.Set(i, 1, T(rng.NormFloat64()))
		}
		return x, y
	}
	x, y := draw(n, 1)
	others, targets := draw(4000, 2)
	phi := gaussian[T](t, 8, 1, 1, 1)
	m, err := ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: y}, ridge.Options{})
	require.NoError(t, err)
	errs, err := m.LeaveOneOut(dense.Matrix[T]{}, x, y, nil)
	require.NoError(t, err)
	sizes, logs := dense.New[float64](n, 2), dense.New[T](n, 2)
	for i, e := range errs.Data {
		sizes.Data[i] = math.Abs(float64(e))
		logs.Data[i] = T(math.Log(sizes.Data[i] + 1e-3))
	}
	g, err := ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: logs}, ridge.Options{})
	require.NoError(t, err)
	rest, err := g.LeaveOneOut(dense.Matrix[T]{}, x, logs, nil)
	require.NoError(t, err)
	ratios, least := dense.New[float64](n, 2), []float64{math.Inf(1), math.Inf(1)}
	for i, v := range rest.Data {
		ratios.Data[i] = math.Exp(float64(v))
		least[i%2] = min(least[i%2], float64(logs.Data[i]-v))
	}
	with, err := m.WithBands(ridge.Bands[T]{Errors: ratios, Logs: g, Least: least})
	require.NoError(t, err)
	equal, err := m.WithBands(ridge.Bands[T]{Errors: sizes})
	require.NoError(t, err)
	share := func(m *ridge.Model[T], lo, hi float64, output int) float64 {
		mean, half := m.Band(others, 0.9)
		inside, count := 0.0, 0.0
		for i := range others.Rows {
			if v := float64(others.At(i, 0)); v >= lo && v < hi {
				count++
				if math.Abs(float64(targets.At(i, output)-mean.At(i, output))) <= float64(half.At(i, output)) {
					inside++
				}
			}
		}
		return inside / count
	}
	allowed := 4 * math.Sqrt(0.09*(1.0/500+1.0/2000))
	for output := range 2 {
		assert.InDelta(t, 0.9, share(with, 0, 1, output), allowed)
		assert.InDelta(t, 0.9, share(with, 1, 2, output), allowed)
	}
	assert.Less(t, share(equal, 1, 2, 0), 0.9-allowed/2)
	again := reread(t, with, ridge.ReadModel[T])
	mean, half := with.Band(others, 0.9)
	m2, h2 := again.Band(others, 0.9)
	assert.Equal(t, mean, m2)
	assert.Equal(t, half, h2)
	_, width := again.Band(others.RowRange(0, 1), 0.9)
	for j, v := range width.Data {
		assert.InEpsilon(t, half.At(0, j), v, 1e-5)
	}
	none, err := with.WithBands(ridge.Bands[T]{Errors: sizes})
	require.NoError(t, err)
	_, h2 = none.Band(others, 0.9)
	assert.Equal(t, h2.At(0, 0), h2.At(1, 0), "the last bands count")
	_, err = m.WithBands(ridge.Bands[T]{Errors: ratios, Logs: nil, Least: least})
	assert.ErrorContains(t, err, "Model is zero")
	_, err = m.WithBands(ridge.Bands[T]{Errors: dense.New[float64](3, 1), Logs: g, Least: least})
	assert.EqualError(t, err, "ridge: errors are 3×1, want at least one row and 2 columns")
	one, err := ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: logs.ColRange(0, 1)}, ridge.Options{})
	require.NoError(t, err)
	_, err = m.WithBands(ridge.Bands[T]{Errors: ratios, Logs: one, Least: least})
	assert.EqualError(t, err, "ridge: logs has 16 features and 1 outputs, want 16 and 2")
	_, err = m.WithBands(ridge.Bands[T]{Errors: ratios, Logs: g, Least: least[:1]})
	assert.EqualError(t, err, "ridge: least has 1 numbers, want 2")
	_, err = m.WithBands(ridge.Bands[T]{Errors: ratios, Logs: g, Least: []float64{0, math.NaN()}})
	assert.ErrorContains(t, err, "ridge: least")
}

// Log-errors that are linear in x fall without end to the left of the rows, and bands do not: their
// factor is at least the smallest of the rows. Relative bands are wide on both sides.
func testNoiseAwayFromRows[T dense.Float](t *testing.T) {
	const n = 100
	x, y, logs := dense.New[T](n, 1), dense.New[T](n, 1), dense.New[T](n, 1)
	for i := range n {
		x.Set(i, 0, T(i)/n)
		y.Set(i, 0, T(i%2))
		logs.Set(i, 0, 2*x.At(i, 0)+T(i%2)/8)
	}
	phi, err := rff.Draw[T](rff.Identity{D: 1}, nil)
	require.NoError(t, err)
	m, err := ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: y}, ridge.Options{Noise: 1, Prior: 1})
	require.NoError(t, err)
	g, err := ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: logs}, ridge.Options{Noise: 0.01, Prior: 100})
	require.NoError(t, err)
	errs := dense.Of(9, 1, []float64{1, 1, 1, 1, 1, 1, 1, 1, 2})
	z := dense.Of(3, 1, []T{-40, 0.5, 20})
	_, sd := m.Predict(z)
	mean := g.Mean(dense.Matrix[T]{}, z)
	for _, relative := range []bool{false, true} {
		with, err := m.WithBands(ridge.Bands[T]{Errors: errs, Logs: g, Least: []float64{-0.5}, Relative: relative})
		require.NoError(t, err)
		again := reread(t, with, ridge.ReadModel[T])
		_, half := again.Band(z, 0.9)
		for i := range z.Rows {
			want := 2 * math.Exp(max(float64(mean.At(i, 0)), -0.5))
			if relative {
				want *= float64(sd.At(i, 0))
			}
			require.InEpsilon(t, want, float64(half.At(i, 0)), 1e-5)
			_, one := again.Band(z.RowRange(i, i+1), 0.9)
			require.InEpsilon(t, want, float64(one.At(0, 0)), 1e-5)
		}
		_, half = again.Band(z, 0.91)
		assert.True(t, math.IsInf(float64(half.At(0, 0)), 1), "nine errors tell of 0.9")
	}
}

func TestNoiseAwayFromRows(t *testing.T) {
	densetest.Both(t, testNoiseAwayFromRows[float32], testNoiseAwayFromRows[float64])
}

func TestNoise(t *testing.T) { densetest.Both(t, testNoise[float32], testNoise[float64]) }
