package ridge_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// rings returns points of the plane with classes drawn from probabilities that depend on their
// radius.
func rings[T dense.Float](n int, seed uint64) (b ridge.Block[T], labels []int, truth dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(seed, 1))
	b = ridge.Block[T]{X: dense.New[T](n, 2), Y: dense.New[T](n, 1)}
	labels, truth = make([]int, n), dense.New[T](n, 3)
	for i := range n {
		u, v := 2*rng.NormFloat64(), 2*rng.NormFloat64()
		b.X.Set(i, 0, T(u))
		b.X.Set(i, 1, T(v))
		r := math.Hypot(u, v)
		e := []float64{math.Exp(2 * (2 - r)), 1, math.Exp(3 * (r - 3))}
		sum := e[0] + e[1] + e[2]
		at := rng.Float64() * sum
		for at > e[labels[i]] && labels[i] < 2 {
			at -= e[labels[i]]
			labels[i]++
		}
		for j, v := range e {
			truth.Set(i, j, T(v/sum))
		}
		b.Y.Set(i, 0, T(labels[i]))
	}
	return b, labels, truth
}

// Logistic comes close to the log loss of the true probabilities, the least there is, and
// its probabilities are calibrated: the expected error over 10 bins of 5000 rows of right
// probabilities is about 10·√(0.2/(2π·500)) times 1/10, 0.01.
func TestLogistic(t *testing.T) {
	t.Run("type=float32", testLogistic[float32])
	t.Run("type=float64", testLogistic[float64])
}

func testLogistic[T dense.Float](t *testing.T) {
	ctx := context.Background()
	train, _, _ := rings[T](2000, 1)
	test, labels, truth := rings[T](5000, 2)
	phi := gaussian[T](t, 24, 2, 1.5, 1)
	least := logLoss(truth, labels)
	passes := 0
	c, err := ridge.Logistic(ctx, phi, train, 3, ridge.LogisticOptions{Progress: func(n, _ int) { passes = n }})
	require.NoError(t, err)
	assert.Equal(t, 3, c.Classes())
	p := c.Probabilities(dense.Matrix[T]{}, test.X)
	right := 0
	for i, l := range labels {
		sum := 0.0
		for _, v := range p.Row(i) {
			sum += float64(v)
		}
		assert.InDelta(t, 1, sum, 1e-6)
		if p.At(i, l) == slices.Max(p.Row(i)) {
			right++
		}
	}
	loss, expected := logLoss(p, labels), calibrationError(p, labels)
	t.Logf("log loss %.4f, least %.4f, calibration error %.4f, %d right, %d passes", loss, least, expected, right, passes)
	assert.Less(t, loss, least+0.06)
	assert.Less(t, expected, 0.06)
}

// The weights are where the gradient of the penalised loss is zero: the features times the
// differences of labels and probabilities are the weights over s².
func TestLogisticIsStationary(t *testing.T) {
	const signal = 3.0
	train, labels, _ := rings[float64](200, 1)
	weights := make([]float64, 200)
	for i := range weights {
		weights[i] = float64(i % 3)
	}
	train.Weights = weights
	phi := gaussian[float64](t, 8, 2, 1.5, 1)
	c, err := ridge.Logistic(context.Background(), phi, train, 3, ridge.LogisticOptions{Prior: signal, Tolerance: 1e-8})
	require.NoError(t, err)
	p := c.Probabilities(dense.Matrix[float64]{}, train.X)
	features := phi.Transform(dense.Matrix[float64]{}, train.X)
	w, rest := dense.New[float64](16, 3), [3]float64{}
	for i, l := range labels {
		for j, v := range p.Row(i) {
			if j == l {
				v--
			}
			for f, e := range features.Row(i) {
				w.Row(f)[j] -= signal * weights[i] * v * e
			}
			rest[j] += weights[i] * v
		}
	}
	assert.InDeltaSlice(t, make([]float64, 3), rest[:], 200*1e-8, "intercepts have no penalty")
	// Logarithms of ratios of probabilities are differences of features times weights, but for the
	// intercepts. The derivatives, of the mean of 200 losses, are within 1e-8.
	intercept := 0.0
	for i := range labels {
		ratio := math.Log(p.At(i, 0) / p.At(i, 1))
		for f, e := range features.Row(i) {
			ratio -= e * (w.At(f, 0) - w.At(f, 1))
		}
		if i == 0 {
			intercept = ratio
		}
		assert.InDelta(t, intercept, ratio, 4*signal*200*1e-8*16)
	}
}

func TestLogisticStops(t *testing.T) {
	train, _, _ := rings[float64](200, 1)
	phi := gaussian[float64](t, 8, 2, 1.5, 1)
	c, err := ridge.Logistic(context.Background(), phi, train, 3, ridge.LogisticOptions{MaxIterations: 4})
	assert.ErrorIs(t, err, ridge.ErrNotConverged)
	require.NotNil(t, c)
	assert.NotPanics(t, func() { c.Probabilities(dense.Matrix[float64]{}, train.X) })
	ctx, cancel := context.WithCancel(context.Background())
	_, err = ridge.Logistic(ctx, phi, train, 3, ridge.LogisticOptions{Progress: func(pass, _ int) {
		if pass == 3 {
			cancel()
		}
	}})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestClassifierErrors(t *testing.T) {
	ctx := context.Background()
	train, _, _ := rings[float64](20, 1)
	phi := gaussian[float64](t, 8, 2, 1.5, 1)
	fit := func(phi rff.Map[float64], rows ridge.Rows[float64], classes int) error {
		_, err := ridge.Logistic(ctx, phi, rows, classes, ridge.LogisticOptions{})
		return err
	}
	assert.EqualError(t, fit(phi, train, 1), "ridge: classes = 1, want at least 2")
	assert.EqualError(t, fit(nil, train, 2), "ridge: phi is nil, want a feature map")
	assert.EqualError(t, fit(phi, nil, 2), "ridge: rows is nil, want data")
	assert.ErrorContains(t, fit(phi, train, math.MaxInt/9), "ridge: 16 features of")
	assert.ErrorContains(t, fit(phi, train, 2), "ridge: the target 2 is no class, want a whole number from 0 to 1")
	assert.ErrorContains(t, fit(phi, ridge.Block[float64]{X: train.X, Y: train.X}, 3), "ridge: y is 20×2, want")
	assert.ErrorContains(t, fit(phi, ridge.Block[float64]{}, 3), "ridge: no rows")
	_, err := ridge.Logistic(ctx, phi, train, 3, ridge.LogisticOptions{Prior: -1})
	assert.EqualError(t, err, "ridge: Prior = -1, want a positive number")
	_, err = ridge.Logistic(ctx, phi, train, 3, ridge.LogisticOptions{Tolerance: math.NaN()})
	assert.EqualError(t, err, "ridge: Tolerance = NaN, want a positive number")
	_, err = ridge.Logistic(ctx, phi, train, 3, ridge.LogisticOptions{MaxIterations: -1})
	assert.EqualError(t, err, "ridge: MaxIterations = -1, want at least 1")
	c, err := ridge.Logistic(ctx, phi, train, 3, ridge.LogisticOptions{})
	require.NoError(t, err)
	assert.PanicsWithValue(t, "ridge: x is 20×1, want 20×2", func() { c.Probabilities(dense.Matrix[float64]{}, train.Y) })
}

// logLoss returns the mean of −log p_i(labels[i]).
func logLoss[T dense.Float](p dense.Matrix[T], labels []int) float64 {
	loss := 0.0
	for i, c := range labels {
		loss -= math.Log(float64(p.At(i, c)))
	}
	return loss / float64(len(labels))
}

// calibrationError returns Σ_b |Σ_i (right_i − p_i)|/n over 10 bins b of the largest probability
// p_i of a row, where right_i is 1 if the class of that probability is the label, and 0 otherwise.
func calibrationError[T dense.Float](p dense.Matrix[T], labels []int) (expected float64) {
	var bins [10]float64
	for i, c := range labels {
		best := slices.Max(p.Row(i))
		b := &bins[min(int(10*best), 9)]
		*b -= float64(best)
		if p.At(i, c) == best {
			*b++
		}
	}
	for _, b := range bins {
		expected += math.Abs(b) / float64(len(labels))
	}
	return expected
}

// halves returns points about the mean, whose coordinates are multiples of 1/16 from it, on two
// sides of a line.
func halves[T dense.Float](n int, mean float64) ridge.Block[T] {
	rng := rand.New(rand.NewPCG(1, 7))
	b := ridge.Block[T]{X: dense.New[T](n, 2), Y: dense.New[T](n, 1)}
	for i := range n {
		u, v := math.Round(16*rng.NormFloat64())/16, math.Round(16*rng.NormFloat64())/16
		b.X.Set(i, 0, T(mean+u))
		b.X.Set(i, 1, T(mean+v))
		if 2*u+v+0.5*rng.NormFloat64() > 0.5 {
			b.Y.Set(i, 0, 1)
		}
	}
	return b
}

// Intercepts make up for means of features, so that probabilities do not depend on them: they are
// those of float64 without means.
func testClassesOfLargeMeans[T dense.Float](t *testing.T) {
	ctx := context.Background()
	near := halves[float64](300, 0)
	wide, err := rff.Identity[float64](2)
	require.NoError(t, err)
	phi, err := rff.Identity[T](2)
	require.NoError(t, err)
	exact, err := ridge.Logistic(ctx, wide, near, 2, ridge.LogisticOptions{Tolerance: 1e-10})
	require.NoError(t, err)
	for _, mean := range []float64{0, 1e5, 1e6} {
		rows := halves[T](300, mean)
		c, err := ridge.Logistic(ctx, phi, rows, 2, ridge.LogisticOptions{})
		require.NoError(t, err, "mean %g", mean)
		assert.InDeltaSlice(t, exact.Probabilities(dense.Matrix[float64]{}, near.X).Data, c.Probabilities(dense.Matrix[T]{}, rows.X).Data, 2e-4, "mean %g", mean)
	}
}

func TestClassesOfLargeMeans(t *testing.T) {
	t.Run("type=float32", testClassesOfLargeMeans[float32])
	t.Run("type=float64", testClassesOfLargeMeans[float64])
}
