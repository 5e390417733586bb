package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Three thresholds of weight 1, 1 and 2 in two columns.
var box = kernels.Boxes{
	Thresholds: dense.Of(2, 2, []float64{0, 1, -1, -1}),
	Weights:    dense.Of(2, 2, []float64{1, 1, 2, 0}),
}

func TestBoxes(t *testing.T) {
	at := func(same float64) float64 { return (same + same*same + same*same*same) / 3 }
	for _, c := range []struct {
		x, y []float64
		same float64
	}{
		{[]float64{0.5, 0}, []float64{0.5, 9}, 1},
		{[]float64{0.5, 0}, []float64{1, 0}, 1},      // a threshold is on the lower side of itself
		{[]float64{0.5, 0}, []float64{1.1, 0}, 0.75}, // one threshold of weight 1 between
		{[]float64{-5, 0}, []float64{0.5, -2}, 0.25}, // one of weight 1, one of weight 2
		{[]float64{-5, 0}, []float64{5, -2}, 0},
	} {
		assert.InDelta(t, at(c.same), box.Eval(c.x, c.y), 1e-15)
		assert.InDelta(t, at(c.same), box.Eval(c.y, c.x), 1e-15)
	}
	assert.True(t, math.IsNaN(box.Eval([]float64{math.NaN(), 0}, []float64{0, 0})))
	assert.True(t, math.IsNaN(box.Eval([]float64{0, 0}, []float64{0, math.Inf(1)})))
	assert.Equal(t, "Boxes{Thresholds: 2×2}", box.String())
}

// Gram agrees with Eval at all pairs and has no negative eigenvalue beyond rounding.
func TestGramOfBoxes(t *testing.T) {
	densetest.Both(t, testGramOfBoxes[float32], testGramOfBoxes[float64])
}

func testGramOfBoxes[T dense.Float](t *testing.T) {
	const n = 90
	rng := rand.New(rand.NewPCG(1, 2))
	x := dense.New[T](n, 2)
	for i := range x.Data {
		x.Data[i] = T(2 * rng.NormFloat64())
	}
	g := kernels.Gram(dense.Matrix[T]{}, box, x, dense.Matrix[T]{})
	exact, s := dense.Copy(dense.Matrix[float64]{}, x), mat.NewSymDense(n, nil)
	for i := range n {
		for j := range n {
			assert.InDelta(t, box.Eval(exact.Row(i), exact.Row(j)), float64(g.At(i, j)), 1e-7)
			assert.Equal(t, g.At(j, i), g.At(i, j))
			s.SetSym(i, j, float64(g.At(i, j)))
		}
		assert.Equal(t, T(1), g.At(i, i))
	}
	var eig mat.EigenSym
	assert.True(t, eig.Factorize(s, false))
	assert.Greater(t, eig.Values(nil)[0], -1e-5)
}

func TestBoxesErrors(t *testing.T) {
	for want, k := range map[string]kernels.Boxes{
		"kernels: Boxes.Thresholds is 0×0 and Weights 0×0, want the same shape, at least 1×1": {},
		"kernels: Boxes.Thresholds is 1×2 and Weights 1×1, want the same shape, at least 1×1": {Thresholds: dense.New[float64](1, 2), Weights: dense.New[float64](1, 1)},
		"kernels: Boxes.Thresholds[0][1] = NaN, want a finite number":                         {Thresholds: dense.Of(1, 2, []float64{0, math.NaN()}), Weights: dense.New[float64](1, 2)},
		"kernels: Boxes.Thresholds[0] are not in ascending order":                             {Thresholds: dense.Of(1, 2, []float64{1, 0}), Weights: dense.New[float64](1, 2)},
		"kernels: Boxes.Weights[0][1] = NaN, want a number from 0 on":                         {Thresholds: dense.New[float64](1, 2), Weights: dense.Of(1, 2, []float64{1, math.NaN()})},
		"kernels: Boxes.Weights have the sum 0, want a positive number":                       {Thresholds: dense.New[float64](1, 2), Weights: dense.New[float64](1, 2)},
	} {
		assert.EqualError(t, kernels.Check(k), want)
		assert.PanicsWithValue(t, want, func() { k.Eval([]float64{1}, []float64{1}) })
	}
	assert.Panics(t, func() { box.Eval([]float64{1}, []float64{1}) })
	assert.Panics(t, func() { kernels.Gram(dense.Matrix[float64]{}, box, dense.New[float64](3, 1), dense.Matrix[float64]{}) })
}

// Prepared points are placed among the thresholds once: a Gram matrix allocates for its rows, not
// for its pairs.
func TestPreparedBoxesAllocateForRows(t *testing.T) {
	a := must.Have(kernels.Against(box, dense.New[float64](1000, 2)))
	x, dst := dense.New[float64](64, 2), dense.New[float64](64, 1000)
	assert.LessOrEqual(t, testing.AllocsPerRun(5, func() { a.Gram(dst, x) }), 64.0)
}
