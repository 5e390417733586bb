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
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
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

// Classify comes close to the log loss of the true probabilities, the least there is, and its
// probabilities are calibrated: the expected error over 10 bins of 5000 rows of right probabilities
// is about 10·√(0.2/(2π·500)) times 1/10, 0.01. The loss of leave-one-out is within four standard
// errors, 0.6/√1200 each, of the loss at other rows.
func testClassify[T dense.Float](t *testing.T) {
	ctx := context.Background()
	train, _, _ := rings[T](1200, 1)
	test, labels, truth := rings[T](5000, 2)
	maps := []rff.Map[T]{gaussian[T](t, 24, 2, 0.1, 1), gaussian[T](t, 24, 2, 1.5, 1)}
	least := logLoss(truth, labels)
	found := must.Have(ridge.Classify(ctx, maps, train, ridge.ClassifyOptions{Classes: 3}))
	assert.Equal(t, 1, found.Best)
	assert.Less(t, found.Trials[1].Score, found.Trials[0].Score)
	c := found.Classifier
	p := c.Probabilities(dense.Matrix[T]{}, test.X)
	for i := range labels {
		sum := 0.0
		for _, v := range p.Row(i) {
			sum += float64(v)
		}
		require.InDelta(t, 1, sum, 1e-6)
	}
	loss, expected := logLoss(p, labels), calibrationError(p, labels)
	assert.Less(t, loss, least+0.02)
	assert.Less(t, expected, 0.03)
	assert.InDelta(t, loss, found.Trials[1].Score, 4*0.6/math.Sqrt(1200))
}

func TestClassify(t *testing.T) {
	densetest.Both(t, testClassify[float32], testClassify[float64])
}

// The loss of leave-one-out is the loss of fits without each row, with their own indicators.
func TestLossOfClassify(t *testing.T) {
	const n, lambda = 40, 0.3
	train, labels, _ := rings[float64](n, 1)
	train.Weights = make([]float64, n)
	factors := []float64{1, 2, 0.5}
	y, weights := dense.New[float64](n, 3), make([]float64, n)
	for i, l := range labels {
		train.Weights[i] = 1 + float64(i%3)
		weights[i] = train.Weights[i] * factors[l]
		y.Set(i, l, 1)
	}
	phi := gaussian[float64](t, 8, 2, 1.5, 1)
	found := must.Have(ridge.Classify(t.Context(), []rff.Map[float64]{phi}, train, ridge.ClassifyOptions{Classes: 3, Ratio: lambda, ClassWeights: factors}))
	assert.Equal(t, lambda, found.Ratio)
	sum, total := 0.0, 0.0
	for i, l := range labels {
		without := slices.Clone(weights)
		without[i] = 0
		m := must.Have(sumOf(t, phi, train.X, y, without).Fit(t.Context(), ridge.Options{Ratio: lambda}))
		f := m.Mean(dense.Matrix[float64]{}, train.X.RowRange(i, i+1)).Row(0)
		norm := 0.0
		for _, v := range f {
			norm += math.Exp(found.Temperature * v)
		}
		sum += weights[i] * (math.Log(norm) - found.Temperature*f[l])
		total += weights[i]
	}
	assert.InDelta(t, sum/total, found.Trials[0].Score, 1e-9)
	all := must.Have(sumOf(t, phi, train.X, y, weights).Fit(t.Context(), ridge.Options{Ratio: lambda}))
	f, p := all.Mean(dense.Matrix[float64]{}, train.X), found.Classifier.Probabilities(dense.Matrix[float64]{}, train.X)
	for i := range n {
		assert.InDelta(t, found.Temperature*(f.At(i, 0)-f.At(i, 2)), math.Log(p.At(i, 0)/p.At(i, 2)), 1e-9)
	}
}

// The search for λ finds no worse loss than any of a grid, and the sample of 9000 rows, of which it
// has 2048, has the loss of all of them, within four standard errors.
func TestRatioOfClassify(t *testing.T) {
	train, _, _ := rings[float64](300, 1)
	maps := []rff.Map[float64]{gaussian[float64](t, 16, 2, 1.5, 1)}
	found := must.Have(ridge.Classify(t.Context(), maps, train, ridge.ClassifyOptions{Classes: 3}))
	for e := -6; e < 4; e++ {
		at := must.Have(ridge.Classify(t.Context(), maps, train, ridge.ClassifyOptions{Classes: 3, Ratio: math.Pow(10, float64(e))}))
		assert.LessOrEqual(t, found.Trials[0].Score, at.Trials[0].Score+1e-3)
	}
	many, _, _ := rings[float64](9000, 3)
	found = must.Have(ridge.Classify(t.Context(), maps, many, ridge.ClassifyOptions{Classes: 3, Ratio: 1}))
	other, labels, _ := rings[float64](9000, 4)
	assert.InDelta(t, logLoss(found.Classifier.Probabilities(dense.Matrix[float64]{}, other.X), labels), found.Trials[0].Score, 4*0.6/math.Sqrt(2048))
}

func TestClassifierErrors(t *testing.T) {
	train, _, _ := rings[float64](20, 1)
	phi := gaussian[float64](t, 8, 2, 1.5, 1)
	fit := func(phi rff.Map[float64], rows ridge.Rows[float64], classes int, o ridge.ClassifyOptions) error {
		o.Classes = classes
		_, err := ridge.Classify(t.Context(), []rff.Map[float64]{phi}, rows, o)
		return err
	}
	var none ridge.ClassifyOptions
	assert.EqualError(t, fit(phi, train, 1, none), "ridge: Classes = 1, want at least 2")
	assert.EqualError(t, fit(nil, train, 2, none), "ridge: phi is nil, want a feature map")
	assert.EqualError(t, fit(phi, nil, 2, none), "ridge: rows is nil, want data")
	assert.ErrorContains(t, fit(phi, train, 2, none), "ridge: the target 2 is no class, want a whole number from 0 to 1")
	assert.EqualError(t, fit(phi, train, 4, none), "ridge: no row of class 3 of 4, want at least one with a weight above 0")
	assert.ErrorContains(t, fit(phi, ridge.Block[float64]{X: train.X, Y: train.X}, 3, none), "ridge: y is 20×2, want")
	assert.ErrorContains(t, fit(phi, ridge.Block[float64]{}, 3, none), "ridge: no rows")
	assert.ErrorContains(t, fit(phi, train, 3, ridge.ClassifyOptions{Ratio: -1}), "ridge: Ratio = -1, want a positive number")
	assert.EqualError(t, fit(phi, train, 3, ridge.ClassifyOptions{ClassWeights: []float64{1}}), "ridge: 1 ClassWeights, want one for each of 3 classes")
	assert.EqualError(t, fit(phi, train, 3, ridge.ClassifyOptions{ClassWeights: []float64{1, 0, 1}}), "ridge: ClassWeights[1] = 0, want a positive number")
	equal := ridge.Block[float64]{X: dense.New[float64](20, 2), Y: train.Y}
	assert.ErrorContains(t, fit(phi, equal, 3, none), "ridge: the features do not vary")
	_, err := ridge.Classify(t.Context(), nil, train, ridge.ClassifyOptions{Classes: 3})
	assert.EqualError(t, err, "ridge: no maps, want at least 1")
	found := must.Have(ridge.Classify(t.Context(), []rff.Map[float64]{phi}, train, ridge.ClassifyOptions{Classes: 3}))
	c := found.Classifier
	assert.PanicsWithValue(t, "ridge: x is 20×1, want 20×2", func() { c.Probabilities(dense.Matrix[float64]{}, train.Y) })
	assert.EqualError(t, fit(phi, train, 3, ridge.ClassifyOptions{Labels: []string{"a"}}), "ridge: 1 Labels, want one for each of 3 classes")
	assert.EqualError(t, fit(phi, train, 3, ridge.ClassifyOptions{Labels: []string{"a", "\xff", ""}}), `ridge: Labels[1] = "\xff", want UTF-8`)
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
	wide := must.Have(rff.Draw[float64](rff.Identity{D: 2}, nil))
	phi := must.Have(rff.Draw[T](rff.Identity{D: 2}, nil))
	o := ridge.ClassifyOptions{Classes: 2, Ratio: 1}
	exact := must.Have(ridge.Classify(ctx, []rff.Map[float64]{wide}, near, o))
	for _, mean := range []float64{0, 1e5, 1e6} {
		rows := halves[T](300, mean)
		c, err := ridge.Classify(ctx, []rff.Map[T]{phi}, rows, o)
		require.NoError(t, err, "mean %g", mean)
		assert.InDeltaSlice(t, exact.Classifier.Probabilities(dense.Matrix[float64]{}, near.X).Data, c.Classifier.Probabilities(dense.Matrix[T]{}, rows.X).Data, 5e-4, "mean %g", mean)
	}
}

func TestClassesOfLargeMeans(t *testing.T) {
	densetest.Both(t, testClassesOfLargeMeans[float32], testClassesOfLargeMeans[float64])
}
