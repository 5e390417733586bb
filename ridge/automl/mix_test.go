package automl_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// The logarithm of the target is a function of two columns in units with a long tail. At the
// held-out rows, the mixture has at most the error of its best part, because losses are convex. At
// other rows it has half of the error of a linear function. One file has the mixture.
func testMixture[T dense.Float](t *testing.T) {
	rows, other := table[T](150, 3, 1, 0, func([]float64) float64 { return 0 }), table[T](1000, 3, 2, 0, func([]float64) float64 { return 0 })
	rng := rand.New(rand.NewPCG(3, 4))
	for _, b := range []struct{ x, y dense.Matrix[T] }{{rows.X, rows.Y}, {other.X, other.Y}} {
		for i := range b.x.Rows {
			x := b.x.Row(i)
			b.y.Set(i, 0, T(math.Exp(float64(x[0])+math.Sin(2*float64(x[1]))+0.1*rng.NormFloat64())))
			x[0], x[1] = T(math.Exp(2*float64(x[0]))), T(math.Sinh(2*float64(x[1])))
		}
	}
	r := learn(t, rows, automl.Options{})
	scores, weights := families(r.Report), 0.0
	for _, trial := range r.Trials {
		assert.LessOrEqual(t, r.Score, trial.Score*(1+1e-9))
		weights += trial.Weight
	}
	assert.InDelta(t, 1, weights, 1e-12)
	assert.Less(t, r.Score, scores["linear"]/2, r.String())
	assert.Less(t, rmse(r.Model, other), 0.6*r.Deviation, r.String())
	assert.InDelta(t, 0.9, inside(r.Model, other), 4*math.Sqrt(0.09/150))

	var file bytes.Buffer
	require.NoError(t, r.Model.Write(&file))
	again, err := automl.ReadModel[T](bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	mean, half := r.Model.Band(other.X, 0.9)
	mean2, half2 := again.Band(other.X, 0.9)
	assert.Equal(t, []dense.Matrix[T]{mean, half}, []dense.Matrix[T]{mean2, half2})
	in, out := again.Dims()
	assert.Equal(t, []int{3, 1}, []int{in, out})
	assert.PanicsWithValue(t, "automl: Probabilities of a model of numbers, want Mean", func() { again.Probabilities(mean, other.X) })
	for _, c := range []struct{ key, value, want string }{
		{"mixture.parts.0.weight", "2", "automl: mixture: automl: weights of the parts of the file have the sum"},
		{"mixture.parts.0.weight", "NaN", "automl: mixture: automl: part 0 of the file: numbers"},
		{"mixture.parts", "0", "automl: "},
	} {
		data, err := archive.Changed(file.Bytes(), func(f *safetensors.File) { f.Metadata[c.key] = c.value })
		require.NoError(t, err)
		_, err = automl.ReadModel[T](bytes.NewReader(data))
		assert.ErrorContains(t, err, c.want, c.key)
	}
	assert.EqualError(t, new(automl.Model[T]).Write(&file), "automl: the Model is zero, want one of Fit or ReadModel")
}

func TestMixture(t *testing.T) { densetest.Both(t, testMixture[float32], testMixture[float64]) }

// The steps of logistic regression end where the slope of the penalised loss, 2ω(y − P) − λa, is
// 0.01 of its size at first.
func TestLogistic(t *testing.T) {
	rows := table[float64](60, 2, 1, 0, func(x []float64) float64 { return x[0] })
	y, weights := dense.New[float64](60, 2), make([]float64, 60)
	for i := range 60 {
		weights[i] = 1 + float64(i%3)
		y.Set(i, map[bool]int{true: 1}[rows.Y.At(i, 0) > 0.3*rows.X.At(i, 1)], 1)
	}
	for _, ratio := range []float64{0.03, 1, 30} {
		for _, slope := range automl.LogisticSlopes(t.Context(), rows.X, y, weights, ratio).Data {
			assert.Less(t, math.Abs(slope), 0.01*2*3)
		}
	}
}

// Ranks of a column become normal scores, and a value far off moves by less than three deviations.
// Values beyond those of the rows stay at the last one.
func TestCurves(t *testing.T) {
	x := dense.New[float64](101, 2)
	for i := range 101 {
		copy(x.Row(i), []float64{math.Exp(float64(i) / 10), float64(i % 2)})
	}
	far := dense.Of(3, 2, []float64{-5, 0, math.Exp(5), 0.5, 1e9, 1})
	ranks, squashed := automl.Curves(x, far)
	assert.InDelta(t, 0, ranks.At(1, 0), 0.05)
	assert.InDelta(t, ranks.At(2, 0), -ranks.At(0, 0), 1e-9)
	assert.InDelta(t, 2.58, ranks.At(2, 0), 0.1, "the normal score of the last of 101")
	assert.InDelta(t, 0, squashed.At(1, 0), 0.1)
	assert.InDelta(t, 3, squashed.At(2, 0), 0.01)
	for _, m := range []dense.Matrix[float64]{ranks, squashed} {
		assert.Equal(t, []float64{0, 0.5, 1}, []float64{m.At(0, 1), m.At(1, 1), m.At(2, 1)})
	}
}

// Bands are in proportion to the numbers that the mixture predicts, of targets over nine decades.
// The noise of 0.3 has bands of 90 % with a half width of half of the number.
func TestBandsOfLogarithms(t *testing.T) {
	decades := func(rng *rand.Rand, x []float64) float64 {
		x[0] = rng.Float64()
		return 20*x[0] + 0.3*rng.NormFloat64()
	}
	other := exponentials(500, 102, decades)
	r := learn(t, exponentials(80, 2, decades), automl.Options{})
	mean, half := r.Model.Band(other.X, 0.9)
	shares := make([]float64, other.X.Rows)
	for i := range shares {
		shares[i] = half.At(i, 0) / math.Abs(mean.At(i, 0))
	}
	slices.Sort(shares)
	assert.Less(t, shares[len(shares)/2], 5.0, r.String())

	// parts of the mixture that are not positive bring predictions below 0
	wide := func(rng *rand.Rand, x []float64) float64 { return 2*x[0] + 0.3*x[1] + 0.4*rng.NormFloat64() }
	r = learn(t, exponentials(150, 51, wide), automl.Options{})
	mean, half = r.Model.Band(exponentials(2000, 99, wide).X, 0.9)
	for i := range mean.Rows {
		require.Positive(t, mean.At(i, 0)+half.At(i, 0), "%v ± %v", mean.At(i, 0), half.At(i, 0))
	}
}

// exponentials returns rows of two normal columns, which log may change, with the targets exp(log).
func exponentials(n int, seed uint64, log func(rng *rand.Rand, x []float64) float64) ridge.Block[float64] {
	rng := rand.New(rand.NewPCG(seed, 7))
	all := ridge.Block[float64]{X: dense.New[float64](n, 2), Y: dense.New[float64](n, 1)}
	for i := range n {
		x := all.X.Row(i)
		x[0], x[1] = rng.NormFloat64(), rng.NormFloat64()
		all.Y.Set(i, 0, math.Exp(log(rng, x)))
	}
	return all
}
