package ard_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

// selected returns the map of the columns lo ≤ j < hi of d, and then of psi, or those columns if
// psi is nil.
func selected[T dense.Float](t testing.TB, d, lo, hi int, psi rff.Map[T]) rff.Map[T] {
	a := dense.New[T](hi-lo, d)
	for i := range a.Rows {
		a.Set(i, lo+i, 1)
	}
	first, err := rff.Affine(a, nil)
	require.NoError(t, err)
	if psi == nil {
		return first
	}
	m, err := rff.Compose(first, psi)
	require.NoError(t, err)
	return m
}

// ofColumns is a Gaussian kernel of the columns lo ≤ j < hi of d, with m frequencies.
func ofColumns[T dense.Float](t testing.TB, d, lo, hi, m int, scale float64) rff.Map[T] {
	w, err := orf.Draw[T](orf.GramSchmidt{}, m, hi-lo, rand.NewPCG(uint64(m), math.Float64bits(scale)))
	require.NoError(t, err)
	psi, err := rff.Gaussian(w, scale)
	require.NoError(t, err)
	return selected(t, d, lo, hi, psi)
}

// planted returns n points of four columns and a function of the first, a smooth part and a rough
// one.
func planted[T dense.Float](n, outputs int, seed uint64) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(seed, 7))
	x, y := dense.New[T](n, 4), dense.New[T](n, outputs)
	for i := range n {
		u := 6*rng.Float64() - 3
		x.Set(i, 0, T(u))
		for j := 1; j < 4; j++ {
			x.Set(i, j, T(rng.NormFloat64()))
		}
		for j := range outputs {
			f := 2*math.Sin(u+float64(j)) + 0.4*math.Sin(10*u+float64(j))
			y.Set(i, j, T(f+0.1*rng.NormFloat64()))
		}
	}
	return ridge.Block[T]{X: x, Y: y}
}

// scales are kernels of the first column at three scales, and one of the other columns.
func scales[T dense.Float](t testing.TB, m int) []rff.Map[T] {
	return []rff.Map[T]{
		ofColumns[T](t, 4, 0, 1, m, 0.1), ofColumns[T](t, 4, 0, 1, m, 1), ofColumns[T](t, 4, 0, 1, m, 10), ofColumns[T](t, 4, 1, 4, m, 1),
	}
}

// The gradient against central differences, and the invariance to a common factor.
func TestSumGradient(t *testing.T) {
	maps := scales[float64](t, 9)
	rows := planted[float64](150, 2, 1)
	rows.Weights = make([]float64, 150)
	for i := range rows.Weights {
		rows.Weights[i] = float64(i%3) / 2
		rows.Y.Row(i)[1] += 1000
	}
	for _, o := range []ridge.Options{{}, {NoIntercept: true}, {Noise: 0.2}, {Noise: 3, NoIntercept: true}} {
		at := []float64{0.5, 2, -3, -1}
		value := func(k int, by float64) float64 {
			x := []float64{at[0], at[1], at[2], at[3]}
			x[k] += by
			m, _, err := ard.SumSlope(t.Context(), maps, rows, x, ard.Options{Options: o})
			require.NoError(t, err)
			return m.LogEvidence()
		}
		_, got, err := ard.SumSlope(t.Context(), maps, rows, at, ard.Options{Options: o})
		require.NoError(t, err)
		for k, v := range got {
			const h = 2e-3
			f := func(by float64) float64 { return value(k, by) }
			want := (45*(f(h)-f(-h)) - 9*(f(2*h)-f(-2*h)) + (f(3*h) - f(-3*h))) / (60 * h)
			assert.InDelta(t, want, v, 1e-6*max(1, math.Abs(want)), "map %d, %+v", k, o)
		}

		// L(c·a, c·λ) = L(a, λ), so that the gradient by log a is that by −log λ in sum: 0 at its maximum.
		var fits []*ridge.Model[float64]
		for _, c := range []float64{1, 1e4} {
			weights := make([]float64, len(maps))
			for k, x := range at {
				weights[k] = c * math.Exp(x)
			}
			phi, err := rff.Sum(maps, weights)
			require.NoError(t, err)
			sums, err := ridge.Sum(t.Context(), phi, rows)
			require.NoError(t, err)
			fixed := o
			fixed.Ratio = c
			m, err := sums.Fit(t.Context(), fixed)
			require.NoError(t, err)
			fits = append(fits, m)
			best, err := sums.Fit(t.Context(), o)
			require.NoError(t, err)
			ratio := best.Noise()[0] / best.Prior()[0]
			x := make([]float64, len(at))
			for k := range x {
				x[k] = math.Log(weights[k] / ratio)
			}
			same, slope, err := ard.SumSlope(t.Context(), maps, rows, x, ard.Options{Options: o})
			require.NoError(t, err)
			assert.InDelta(t, best.LogEvidence(), same.LogEvidence(), 1e-5)
			total, size := 0.0, 0.0
			for _, v := range slope {
				total += v
				size += math.Abs(v)
			}
			// λ is right to 0.002, and the derivative changes by less than p·D/2 for each unit of its
			// logarithm.
			assert.Less(t, math.Abs(total), 0.002*72)
			assert.Greater(t, size, 1.0)
		}
		assert.InDelta(t, fits[0].LogEvidence(), fits[1].LogEvidence(), 1e-5)
	}
}

// A smooth and a rough part, in five samples of 100 rows: the sum is better than each kernel alone
// and than equal weights, by the evidence of every sample and by the mean error at other points,
// and the kernel of the other columns goes.
func testPlanted[T dense.Float](t *testing.T) {
	const samples = 5
	maps, other := scales[T](t, 40), planted[T](1000, 1, 3)
	var own float64
	errors := make([]float64, len(maps)+1) // of single kernels and of equal weights
	var rows ridge.Block[T]
	var found *ard.SumResult[T]
	for sample := range samples {
		rows = planted[T](100, 1, 20+uint64(sample))
		var err error
		found, err = ard.FitSum(t.Context(), maps, rows, ard.Options{})
		require.NoError(t, err)
		total := 0.0
		for _, w := range found.Weights {
			total += w
		}
		assert.InDelta(t, 1, total, 1e-12)
		assert.Less(t, found.Weights[3], 1e-3)
		assert.Greater(t, found.Weights[0], 0.03)
		assert.Greater(t, found.Weights[1]+found.Weights[2], 0.5)
		own += rmse(found.Model, other.X, other.Y) / samples
		for k := range errors {
			weights := []float64{1, 1, 1, 1}
			if k < len(maps) {
				weights = make([]float64, len(maps))
				weights[k] = 1
			}
			phi, err := rff.Sum(maps, weights)
			require.NoError(t, err)
			m, err := ridge.Fit(t.Context(), phi, rows.X, rows.Y, ridge.Options{})
			require.NoError(t, err)
			assert.Greater(t, found.Model.LogEvidence(), m.LogEvidence()+5, "map %d", k)
			errors[k] += rmse(m, other.X, other.Y) / samples
			if k == len(maps) {
				assert.InDelta(t, m.LogEvidence(), found.EqualEvidence, 1e-6*math.Abs(m.LogEvidence()))
			}
		}
	}
	t.Logf("sum %.4f, single kernels and equal weights %.4f", own, errors)
	for k, e := range errors {
		assert.Less(t, own, 0.95*e, "map %d", k)
	}

	// The model is that of its map, to the rounding of features.
	phi, err := rff.Sum(maps, found.Weights)
	require.NoError(t, err)
	assert.Equal(t, phi.Kernel(), found.Model.Map().Kernel())
	again, err := ridge.Fit(t.Context(), phi, rows.X, rows.Y, ridge.Options{Ratio: found.Model.Noise()[0] / found.Model.Prior()[0]})
	require.NoError(t, err)
	assert.InDelta(t, again.LogEvidence(), found.Model.LogEvidence(), 1e7*densetest.Roundoff[T]())
	var file bytes.Buffer
	require.NoError(t, found.Model.Write(&file))
	read, err := ridge.ReadModel[T](&file)
	require.NoError(t, err)
	assert.Equal(t, found.Model.Mean(dense.Matrix[T]{}, other.X), read.Mean(dense.Matrix[T]{}, other.X))
}

func TestSumOfScales(t *testing.T) {
	densetest.Both(t, testPlanted[float32], testPlanted[float64])
}

// Functions drawn from the prior give its weights back. With p outputs and D_k weights that are
// well determined, the logarithm of a weight has the standard error √(2/(p·D_k)); that of equal
// weights is many times as far. The bound of 4.5 of them for each of the 3 has a false-alarm rate
// below 10⁻⁴.
func testPrior[T dense.Float](t *testing.T) {
	const n, d, each, outputs = 1200, 90, 30, 10
	truth := []float64{0.7, 0.25, 0.05}
	rng := rand.New(rand.NewPCG(4, 5))
	rows := ridge.Block[T]{X: densetest.Normal[T](rng, n, d, 0, 1), Y: dense.New[T](n, outputs), Weights: make([]T, n)}
	weights := densetest.Normal[float64](rng, d, outputs, 0, 1)
	for i := range n {
		rows.Weights[i] = T(1 + i%3)
		for j := range outputs {
			y := 0.3 * rng.NormFloat64() / math.Sqrt(float64(rows.Weights[i]))
			for f, v := range rows.X.Row(i) {
				y += float64(v) * math.Sqrt(truth[f/each]) * weights.At(f, j)
			}
			rows.Y.Set(i, j, T(y))
		}
	}
	var maps []rff.Map[T]
	for k := range truth {
		maps = append(maps, selected[T](t, d, k*each, (k+1)*each, nil))
	}
	for _, o := range []ridge.Options{{}, {NoIntercept: true}, {Noise: 0.09}} {
		found, err := ard.FitSum(t.Context(), maps, rows, ard.Options{Options: o})
		require.NoError(t, err)
		size := 0.0
		for _, s := range found.Model.Prior() {
			size += s / outputs
		}
		for k, w := range found.Weights {
			allowed := 4.5 * math.Sqrt(2.0/(outputs*each))
			assert.InDelta(t, math.Log(truth[k]), math.Log(w*size), allowed, "%+v", o)
			assert.Greater(t, math.Abs(math.Log(truth[k]*3)), allowed/2, "equal weights are seen")
		}
	}
}

func TestSumOfThePrior(t *testing.T) {
	densetest.Both(t, testPrior[float32], testPrior[float64])
}

// Rows of weight 0 do not count, and processors do not either.
func TestSumWithoutRowsOfNoWeight(t *testing.T) {
	maps, rows := scales[float64](t, 12), planted[float64](300, 2, 6)
	run := func(rows ridge.Block[float64], processors int) *ard.SumResult[float64] {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		found, err := ard.FitSum(t.Context(), maps, rows, ard.Options{Options: ridge.Options{NoIntercept: true}})
		require.NoError(t, err)
		return found
	}
	want := run(rows, 1)
	other := run(rows, 4)
	assert.Equal(t, want.Weights, other.Weights)
	assert.Equal(t, want.Model.LogEvidence(), other.Model.LogEvidence())
	more := planted[float64](400, 2, 8)
	dense.Copy(more.X.RowRange(0, 300), rows.X)
	dense.Copy(more.Y.RowRange(0, 300), rows.Y)
	more.Weights = make([]float64, 400)
	for i := range 300 {
		more.Weights[i] = 1
	}
	got := run(more, 2)
	for k, w := range want.Weights {
		assert.InDelta(t, w, got.Weights[k], 1e-6)
	}
}

// The roughest kernel lacks frequencies: the others make up for it by the evidence, and the error
// at other points is that of the sum all the same, above that of the roughest kernel alone.
func TestSumOfTooFewFeatures(t *testing.T) {
	maps, rows, other := scales[float64](t, 48), planted[float64](600, 1, 2), planted[float64](2000, 1, 3)
	for _, b := range []ridge.Block[float64]{rows, other} {
		for i := range b.X.Rows {
			u := b.X.At(i, 0)
			b.Y.Row(i)[0] += 0.4 * (math.Sin(11*u)*math.Cos(7*u) - math.Sin(10*u))
		}
	}
	found, err := ard.FitSum(t.Context(), maps, rows, ard.Options{})
	require.NoError(t, err)
	rough, err := ridge.Fit(t.Context(), maps[0], rows.X, rows.Y, ridge.Options{})
	require.NoError(t, err)
	assert.Greater(t, found.Model.LogEvidence(), rough.LogEvidence()+5)
	assert.Greater(t, rmse(found.Model, other.X, other.Y), 1.05*rmse(rough, other.X, other.Y))
}

// Equal kernels are told apart by nothing: all splits of one weight have the same evidence.
func TestSumOfEqualKernels(t *testing.T) {
	one, rows := ofColumns[float64](t, 4, 0, 1, 20, 0.5), planted[float64](300, 1, 9)
	maps := []rff.Map[float64]{one, one}
	found, err := ard.FitSum(t.Context(), maps, rows, ard.Options{})
	require.NoError(t, err)
	assert.InDelta(t, 0.5, found.Weights[0], 1e-6)
	ratio := found.Model.Noise()[0] / found.Model.Prior()[0]
	for _, share := range []float64{0.1, 0.9} {
		m, _, err := ard.SumSlope(t.Context(), maps, rows, []float64{math.Log(share / ratio), math.Log((1 - share) / ratio)}, ard.Options{})
		require.NoError(t, err)
		assert.InDelta(t, found.Model.LogEvidence(), m.LogEvidence(), 1e-6)
	}
	single, err := ard.FitSum(t.Context(), maps[:1], rows, ard.Options{})
	require.NoError(t, err)
	assert.Equal(t, []float64{1}, single.Weights)
	assert.InDelta(t, single.Model.LogEvidence(), found.Model.LogEvidence(), 0.01)
}

// Targets without noise are explained to rounding: λ is at the end of its range, and is found
// there.
func TestSumWithoutNoise(t *testing.T) {
	maps, rows := scales[float64](t, 8), planted[float64](300, 1, 9)
	for i := range rows.Y.Rows {
		rows.Y.Set(i, 0, 3*rows.X.At(i, 1)+rows.X.At(i, 0))
	}
	maps = append(maps, selected[float64](t, 4, 0, 4, nil))
	found, err := ard.FitSum(t.Context(), maps, rows, ard.Options{})
	require.NoError(t, err)
	assert.Greater(t, found.Weights[4], 0.5)
	assert.Less(t, rmse(found.Model, rows.X, rows.Y), 1e-4)
}

func TestSumErrors(t *testing.T) {
	maps, rows := scales[float64](t, 4), planted[float64](50, 1, 1)
	fit := func(maps []rff.Map[float64], rows ridge.Rows[float64], o ard.Options) error {
		_, err := ard.FitSum(t.Context(), maps, rows, o)
		return err
	}
	assert.EqualError(t, fit(nil, rows, ard.Options{}), "rff: maps is empty, want at least one map")
	assert.EqualError(t, fit([]rff.Map[float64]{maps[0], nil}, rows, ard.Options{}), "rff: maps[1] is nil, want a map")
	assert.EqualError(t, fit(maps, nil, ard.Options{}), "ridge: rows is nil, want data")
	assert.EqualError(t, fit(maps, rows, ard.Options{Sample: 5}), "ard: Sample = 5, want 0 for a sum")
	assert.EqualError(t, fit(maps, rows, ard.Options{MaxIterations: -1}), "ard: MaxIterations = -1, want at least 0")
	assert.EqualError(t, fit(maps, rows, ard.Options{Options: ridge.Options{Prior: 2}}), "ard: Prior = 2, want 0 for a sum")
	assert.EqualError(t, fit(maps, rows, ard.Options{Options: ridge.Options{Ratio: 2}}), "ard: Ratio = 2, want 0 for a sum")
	assert.ErrorContains(t, fit(maps, rows, ard.Options{Options: ridge.Options{Noise: math.NaN()}}), "Noise = NaN")
	broken := planted[float64](50, 1, 1)
	broken.X.Set(3, 1, math.NaN())
	assert.ErrorContains(t, fit(maps, broken, ard.Options{}), "ridge: x[3][1] = NaN")
	constant := planted[float64](50, 1, 1)
	clear(constant.Y.Data)
	assert.ErrorContains(t, fit(maps, constant, ard.Options{}), "output 0 does not vary")

	var none context.Context
	assert.PanicsWithValue(t, "ard: ctx is nil", func() { _, _ = ard.FitSum(none, maps, rows, ard.Options{}) })
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	_, err := ard.FitSum(ctx, maps, rows, ard.Options{Progress: func(s ard.Step) {
		steps++
		assert.Equal(t, 50, s.Rows)
		cancel()
	}})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, steps)
	_, err = ard.FitSum(ctx, maps, rows, ard.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

// A sum of maps of one kernel and of none has no name and is learnt all the same.
func TestSumOfOwnMaps(t *testing.T) {
	own := nameless{ofColumns[float64](t, 4, 0, 1, 30, 0.1)}
	found, err := ard.FitSum(t.Context(), []rff.Map[float64]{own, ofColumns[float64](t, 4, 0, 1, 10, 1)}, planted[float64](200, 1, 1), ard.Options{})
	require.NoError(t, err)
	assert.Nil(t, found.Model.Map().Kernel())
	assert.Greater(t, found.Model.LogEvidence(), found.EqualEvidence)
}

type nameless struct{ rff.Map[float64] }

func (nameless) Kernel() kernels.Kernel { return nil }
