package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// The ratios are those of fits without each row, with the same λ and noise, also at rows that the
// span of landmarks misses.
func testJackknife[T dense.Float](t *testing.T) {
	x, _ := friedman[T](8, 5, 1)
	landmarks := must.Have(rff.Nystroem(kernels.Gaussian{LengthScale: 1}, x))
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
	m := must.Have(sumOf(t, phi, x, y, weights).Fit(t.Context(), ridge.Options{}))
	ratios := must.Have(m.Jackknife(dense.Matrix[T]{}, x, y, weights))
	o := ridge.Options{Noise: m.Noise()[0], Prior: m.Prior()[0]}
	for i := range n {
		without := append([]T(nil), weights...)
		without[i] = 0
		rest := must.Have(sumOf(t, phi, x, y, without).Fit(t.Context(), o))
		mean, sd := rest.Posterior(x.RowRange(i, i+1))
		deviation := math.Sqrt(math.Pow(float64(sd.At(0, 0)), 2) + o.Noise/float64(weights[i]))
		want := math.Abs(float64(y.At(i, 0))-float64(mean.At(0, 0))) / deviation
		assert.InDelta(t, want, float64(ratios.At(i, 0)), 1e5*densetest.Roundoff[T](), "row %d", i)
	}
	weights[3] = 0
	_, err := m.Jackknife(dense.Matrix[T]{}, x, y, weights)
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
	m := must.Have(ridge.Fit(t.Context(), gaussian[float64](t, 16, 1, 1, 1), ridge.Block[float64]{X: x, Y: y}, ridge.Options{}))
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
	ratios := must.Have(m.Jackknife(dense.Matrix[float64]{}, x, y, nil))
	errs := must.Have(m.LeaveOneOut(dense.Matrix[float64]{}, x, y, nil))
	for i, e := range errs.Data {
		errs.Data[i] = math.Abs(e)
	}
	for _, relative := range []bool{true, false} {
		of := errs
		if relative {
			of = ratios
		}
		with := must.Have(m.WithBands(ridge.Bands[float64]{Errors: of, Relative: relative}))
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
	identity := must.Have(rff.Draw[float64](rff.Identity{D: 5}, nil))
	m := must.Have(ridge.Fit(t.Context(), identity, ridge.Block[float64]{X: x, Y: y}, ridge.Options{}))
	_, err := m.WithBands(ridge.Bands[float64]{Errors: dense.Matrix[float64]{}, Relative: true})
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
	with := must.Have(m.WithBands(ridge.Bands[float64]{Errors: dense.Of(3, 1, []float64{3, 1, 2})}))
	_, half := with.Band(x.RowRange(0, 1), 0.5)
	assert.Equal(t, 2.0, half.At(0, 0))
}

// The half width of n errors is the ⌈k·(n + 1)/100⌉-th at the level k/100, in whole numbers, and
// +Inf if n errors are too few for the level.
func testRankOfBands[T dense.Float](t *testing.T) {
	x := dense.Of(4, 1, []T{1, 2, 3, 5})
	identity := must.Have(rff.Draw[T](rff.Identity{D: 1}, nil))
	m := must.Have(ridge.Fit(t.Context(), identity, ridge.Block[T]{X: x, Y: dense.Of(4, 1, []T{1, 0, 1, 0})}, ridge.Options{}))
	var errs []float64
	for n := 1; n <= 200; n++ {
		errs = append(errs, float64(n))
		with := must.Have(m.WithBands(ridge.Bands[T]{Errors: dense.Of(n, 1, errs)}))
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

// Log-errors that are linear in x fall without end to the left of the rows, and bands do not: their
// factor is at least the smallest of the rows. Relative bands are wide on both sides.
func testNoiseAwayFromRows[T dense.Float](t *testing.T) {
	const n = 100
	x, y, logs := dense.New[T](n, 1), dense.New[T](n, 2), dense.New[T](n, 2)
	for i := range n {
		x.Set(i, 0, T(i)/n)
		copy(y.Row(i), []T{T(i % 2), T(i % 3)})
		copy(logs.Row(i), []T{2*x.At(i, 0) + T(i%2)/8, T(i%2)/8 - x.At(i, 0)})
	}
	phi := must.Have(rff.Draw[T](rff.Identity{D: 1}, nil))
	m := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: y}, ridge.Options{Noise: 1, Prior: 1}))
	g := must.Have(ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: logs}, ridge.Options{Noise: 0.01, Prior: 100}))
	errs, least := densetest.Filled(9, 2, 1.0), []float64{-0.5, -2}
	errs.Data[16], errs.Data[17] = 2, 3
	z := dense.Of(3, 1, []T{-40, 0.5, 20})
	_, sd := m.Predict(z)
	mean := g.Mean(dense.Matrix[T]{}, z)
	for _, relative := range []bool{false, true} {
		with := must.Have(m.WithBands(ridge.Bands[T]{Errors: errs, Logs: g, Least: least, Relative: relative}))
		again := reread(t, with, ridge.ReadModel[T])
		_, half := again.Band(z, 0.9)
		for i := range z.Rows {
			_, one := again.Band(z.RowRange(i, i+1), 0.9)
			for j, low := range least {
				want := float64(2+j) * math.Exp(max(float64(mean.At(i, j)), low))
				if relative {
					want *= float64(sd.At(i, j))
				}
				require.InEpsilon(t, want, float64(half.At(i, j)), 1e-5)
				require.InEpsilon(t, want, float64(one.At(0, j)), 1e-5)
			}
		}
		_, half = again.Band(z, 0.91)
		assert.True(t, math.IsInf(float64(half.At(0, 0)), 1), "nine errors tell of 0.9")
	}
	for want, b := range map[string]ridge.Bands[T]{
		"Model is zero": {Errors: errs, Least: least},
		"ridge: errors are 3×1, want at least one row and 2 columns": {Errors: dense.New[float64](3, 1), Logs: g, Least: least},
		"ridge: least has 1 numbers, want 2":                         {Errors: errs, Logs: g, Least: least[:1]},
		"ridge: least[1] = NaN":                                      {Errors: errs, Logs: g, Least: []float64{0, math.NaN()}},
		"ridge: logs has 1 features and 1 outputs, want 1 and 2": {
			Errors: errs, Logs: must.Have(ridge.Fit(t.Context(), phi, ridge.Block[T]{X: x, Y: y.ColRange(0, 1)}, ridge.Options{})), Least: least,
		},
	} {
		_, err := m.WithBands(b)
		assert.ErrorContains(t, err, want)
	}
}

func TestNoiseAwayFromRows(t *testing.T) {
	densetest.Both(t, testNoiseAwayFromRows[float32], testNoiseAwayFromRows[float64])
}
