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
	q := r.Model.Quantiles(other.X, 0.001, 0.05, 0.2, 0.5, 0.8, 0.95)
	assert.Equal(t, q, again.Quantiles(other.X, 0.001, 0.05, 0.2, 0.5, 0.8, 0.95))
	assert.PanicsWithValue(t, "automl: levels[1] = 0, want a number between 0 and 1", func() { again.Quantiles(other.X, 0.5, 0) })
	assert.Panics(t, func() { again.Quantiles(other.X, math.NaN()) })
	for i := range other.X.Rows {
		for k := range q[1:] {
			require.LessOrEqual(t, q[k].At(i, 0), q[k+1].At(i, 0))
		}
	}
	in, out := again.Dims()
	assert.Equal(t, []int{3, 1}, []int{in, out})
	assert.PanicsWithValue(t, "automl: Probabilities of a model of numbers, want Mean", func() { again.Probabilities(q[0], other.X) })
	for _, c := range []struct{ key, value, want string }{
		{"mixture.parts.0.weight", "2", "automl: mixture: automl: weights of the parts of the file have the sum"},
		{"mixture.parts.0.weight", "NaN", "automl: mixture: automl: part 0 of the file: numbers"},
		{"mixture.parts", "0", "automl: "},
		{"mixture.scores", "", "automl: "},
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

// Quantiles of levels without a rank among 20 scores are the largest size, and then ±Inf.
func TestRanksOfQuantiles(t *testing.T) {
	scores := make([]float64, 20)
	for i := range scores {
		scores[i] = float64(i + 1)
	}
	scores[0] = -30
	for level, want := range map[float64]float64{
		1.0 / 21: -30, 0.09: -30, 2.0 / 21: 2, 0.1: 2, 0.3: 6, 10.0 / 21: 10, 0.5: 10.5, 11.0 / 21: 11, 0.53: 12, 0.95: 20, 20.0 / 21: 20, 0.96: 30, 0.04: -30,
		1 - 0.5/21: 30, 0.98: math.Inf(1), 0.02: math.Inf(-1),
	} {
		assert.Equal(t, want, automl.Quantile(scores, level), "level %v", level)
	}
}

// Noise of one side has bands of unequal sides: exponential noise from 0.95 below the mean to 2
// above.
func TestUnequalSides(t *testing.T) {
	skewed := func(seed uint64, n int) ridge.Block[float32] {
		return uniform(n, 2, 1, seed, func(rng *rand.Rand, x, y []float32) { y[0] = 2*x[0] + float32(rng.ExpFloat64()) })
	}
	r, other := learn(t, skewed(1, 150), automl.Options{}), skewed(2, 1000)
	mean, q := r.Model.Mean(dense.Matrix[float32]{}, other.X), r.Model.Quantiles(other.X, 0.05, 0.95)
	assert.Greater(t, q[1].At(0, 0)-mean.At(0, 0), 1.4*(mean.At(0, 0)-q[0].At(0, 0)))
	assert.InDelta(t, 0.9, inside(r.Model, other), 4*math.Sqrt(0.09/150))
	assert.InDelta(t, 0.9, r.Coverage, 4*math.Sqrt(0.09/150))
	assert.InEpsilon(t, 0.5, r.CRPS, 4/math.Sqrt(150), "1/2 for the law itself")
}

// The scores of a fold are those of the mixture that the other folds choose: here of the function
// that is wrong by 1 in the fold, where the mixture of all folds is wrong by ½. The factor of
// logarithms is one of which a single prediction of 1e-9 for 1 changes little.
func TestErrorsOfMixturesWithoutTheFold(t *testing.T) {
	assert.Equal(t, []float64{1, 1, -1, -1}, automl.ErrorsWithout([]float64{0, 0, -1, -1}, []float64{1, 1, 0, 0}))
	assert.InDelta(t, 3, automl.Factor([]float64{3, 6, 30, 1}, []float64{1, 2, 10, 1e-9}), 0.1)
}

// Bands are in proportion to the numbers that the mixture predicts, of targets over nine decades.
// The noise of 0.3 has bands of 90 % from 0.6 to 1.6 of the number. No quantile is below 0, also if
// parts of the mixture are.
func TestBandsOfLogarithms(t *testing.T) {
	decades := func(rng *rand.Rand, x []float64) float64 {
		x[0] = rng.Float64()
		return 20*x[0] + 0.3*rng.NormFloat64()
	}
	other := exponentials(500, 102, decades)
	r := learn(t, exponentials(80, 2, decades), automl.Options{})
	q := r.Model.Quantiles(other.X, 0.05, 0.5, 0.95)
	shares := make([]float64, other.X.Rows)
	for i := range shares {
		shares[i] = (q[2].At(i, 0) - q[0].At(i, 0)) / q[1].At(i, 0)
	}
	slices.Sort(shares)
	assert.Less(t, shares[len(shares)/2], 10.0, r.String())
	assert.Greater(t, shares[len(shares)/2], 0.5)

	wide := func(rng *rand.Rand, x []float64) float64 { return 2*x[0] + 0.3*x[1] + 0.4*rng.NormFloat64() }
	r, other = learn(t, exponentials(150, 51, wide), automl.Options{}), exponentials(2000, 99, wide)
	for i, v := range r.Model.Quantiles(other.X, 0.01)[0].Data {
		require.Positive(t, v, "row %d", i)
	}
	assert.InDelta(t, 0.9, inside(r.Model, other), 4*math.Sqrt(0.09/150))
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
