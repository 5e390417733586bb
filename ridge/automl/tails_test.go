package automl_test

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// waves returns n rows of one column with the targets 5·sin(2·x) and noise.
func waves[T dense.Float](n int, seed uint64, noise func(rng *rand.Rand) float64) ridge.Block[T] {
	b, rng := table[T](n, 1, seed, 0, func(x []float64) float64 { return 5 * math.Sin(2*x[0]) }), rand.New(rand.NewPCG(seed, 9))
	for i := range b.Y.Data {
		b.Y.Data[i] += T(noise(rng))
	}
	return b
}

func noNoise(*rand.Rand) float64 { return 0 }

func studentNoise(rng *rand.Rand) float64 {
	return 2 * distuv.StudentsT{Sigma: 1, Nu: 2, Src: rng}.Rand()
}

func tails[T dense.Float](t *testing.T, rows ridge.Rows[T], o automl.Options) *automl.Result[T] {
	o.HeavyTails = true
	r, err := automl.Fit(t.Context(), rows, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	return r
}

// With outliers the error to the function is at most 0.6 of that of normal noise. With normal noise
// it is within 5 %.
func TestHeavyTails(t *testing.T) {
	for _, c := range []struct {
		name        string
		noise       func(rng *rand.Rand) float64
		least, most float64
	}{
		{"Student's t of 2 degrees of freedom", studentNoise, 0, 0.6},
		{"outliers", func(rng *rand.Rand) float64 {
			v := rng.NormFloat64()
			if rng.Float64() < 0.1 {
				v *= 15
			}
			return v
		}, 0, 0.6},
		{"normal", func(rng *rand.Rand) float64 { return 2 * rng.NormFloat64() }, 0.95, 1.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := waves[float32](1000, 77, noNoise)
			rows := waves[float32](150, 3, c.noise)
			plain, err := automl.Fit(t.Context(), rows, automl.Options{Landmarks: 30}, rand.NewPCG(1, 2))
			require.NoError(t, err)
			assert.Zero(t, plain.Tails)
			r := tails[float32](t, rows, automl.Options{Landmarks: 30})
			assert.Contains(t, r.String(), "Leave-one-out chooses Student-t noise with ν = ")
			assert.Equal(t, c.name == "normal", math.IsInf(r.Tails, 1), r.String())
			share := rmse(r.Model, other) / rmse(plain.Model, other)
			assert.GreaterOrEqual(t, share, c.least)
			assert.LessOrEqual(t, share, c.most)
		})
	}
}

// One row of 100 that is up to 10¹⁵ off, or a fifth of 200 rows, leaves the error near that without
// such rows. Half of the rows do not.
func TestHeavyTailsOfRowsFarOff(t *testing.T) {
	f := func(x []float64) float64 { return x[0] }
	other, o := table[float64](500, 1, 2, 0, f), automl.Options{Landmarks: 30}
	for _, c := range []struct {
		n, every int
		off      float64
		bears    bool
	}{{100, 100, 0, true}, {100, 100, 1e3, true}, {100, 100, 1e9, true}, {100, 100, 1e15, true}, {200, 5, 1e4, true}, {200, 2, 1e4, false}} {
		rows := table[float64](c.n, 1, 1, 0.3, f)
		for i := 0; i < c.n; i += c.every {
			rows.Y.Data[i] += c.off * float64(1+i%7)
		}
		e := rmse(tails[float64](t, rows, o).Model, other)
		assert.Equal(t, c.bears, e < 0.3/math.Sqrt(100)*4, "%+v: error %v", c, e)
	}
}

// read counts how often rows are read, and ends a context at a reading.
type read struct {
	ridge.Rows[float64]
	count *int
	at    int
	end   context.CancelFunc
}

func (r read) Blocks() iter.Seq2[ridge.Block[float64], error] {
	if *r.count++; *r.count == r.at {
		r.end()
	}
	return r.Rows.Blocks()
}

// Rows beyond the sample are read for the sample, for a fit with normal noise, and for each fit
// with weights.
func TestHeavyTailsOfManyRows(t *testing.T) {
	noise := func(rng *rand.Rand) float64 { return 5 * studentNoise(rng) }
	rows, other := waves[float64](9000, 1, noise), waves[float64](1000, 77, noNoise)
	o, count := automl.Options{Landmarks: 30}, 0
	plain, err := automl.Fit(t.Context(), rows, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	heavy := tails[float64](t, read{Rows: rows, count: &count}, o)
	assert.Greater(t, count, 2)
	assert.Less(t, count, 10)
	assert.InDelta(t, 2, heavy.Tails, 1)
	assert.Less(t, rmse(heavy.Model, other), 0.6*rmse(plain.Model, other))
	assert.InDelta(t, 0.9, inside(heavy.Model, rows), 4*math.Sqrt(0.09/500))
}

// The fit ends with its context at every reading.
func TestHeavyTailsEndAtReadings(t *testing.T) {
	rows, o, all := waves[float64](200, 1, studentNoise), automl.Options{Landmarks: 20, HeavyTails: true}, 0
	tails[float64](t, read{Rows: rows, count: &all}, o)
	assert.Greater(t, all, 2)
	for at := 1; at <= all; at++ {
		ctx, cancel := context.WithCancel(t.Context())
		count := 0
		_, err := automl.Fit(ctx, read{rows, &count, at, cancel}, o, rand.NewPCG(1, 2))
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, at, count)
	}
}

// Outputs in other units, and weights of 4 in place of 1, leave the function as it is. A row of
// weight 0 has no part.
func TestHeavyTailsOfUnits(t *testing.T) {
	rows := table[float64](60, 1, 1, 0, func(x []float64) float64 { return x[0] })
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range rows.Y.Data {
		rows.Y.Data[i] += distuv.StudentsT{Sigma: 1, Nu: 1.5, Src: rng}.Rand()
	}
	one := tails[float64](t, rows, automl.Options{})
	assert.Less(t, one.Tails, 4.0)
	two := ridge.Block[float64]{X: dense.New[float64](61, 1), Y: dense.New[float64](61, 1), Weights: make([]float64, 61)}
	for i := range 60 {
		two.X.Set(i, 0, rows.X.At(i, 0))
		two.Y.Set(i, 0, 100*rows.Y.At(i, 0))
		two.Weights[i] = 4
	}
	two.Y.Set(60, 0, 1e9)
	same := tails[float64](t, two, automl.Options{})
	assert.Equal(t, one.Tails, same.Tails)
	mean, again := one.Model.Mean(dense.Matrix[float64]{}, rows.X), same.Model.Mean(dense.Matrix[float64]{}, rows.X)
	floats.Scale(100, mean.Data)
	assert.InDeltaSlice(t, mean.Data, again.Data, 1e-2*floats.Norm(mean.Data, math.Inf(1)))
}
