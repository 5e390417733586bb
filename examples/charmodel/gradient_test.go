package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// tiny is the shape of models whose derivatives are taken element by element.
var tiny = shape{symbols: 5, context: 4, blocks: 2, width: 8, heads: 2}

// testForms returns every form of attention for heads of width d.
func testForms[T dense.Float](d int) map[string]forms[T] {
	linear := func(name string) forms[T] {
		src := exprand.NewSource(7)
		return func() (performer.Differentiable[T], error) {
			f, err := features[T](name, 6, d, src)
			if err != nil {
				return nil, err
			}
			return performer.NewLinear(f, performer.LinearOptions{Causal: true})
		}
	}
	return map[string]forms[T]{
		"elu": linear("elu"), "positive": linear("positive"),
		"exact": func() (performer.Differentiable[T], error) {
			return performer.Exact[T]{Causal: true}, nil
		},
	}
}

// normal returns a matrix of normal numbers.
func normal(rows, cols int, src rand.Source) dense.Matrix[float64] {
	return newParameter[float64](rows, cols, 1, src).value
}

// assertSlopes compares gradients with central differences of f by elements 0, every, 2·every …
// of values. Their error is (step²/6)·f”' + 2⁻⁵³·|f|/step, some 1e-10 for the functions here;
// a term left out of a gradient is some 1e-3 or more.
func assertSlopes(t *testing.T, f func() float64, values, gradients []float64, every int, what string) {
	t.Helper()
	const step = 1e-5
	require.Len(t, gradients, len(values))
	for i := 0; i < len(values); i += every {
		v := values[i]
		values[i] = v + step
		up := f()
		values[i] = v - step
		down := f()
		values[i] = v
		slope := (up - down) / (2 * step)
		assert.InDelta(t, slope, gradients[i], 1e-7*(1+math.Abs(slope)), "%s, element %d", what, i)
	}
}

// TestLayerGradients takes L = Σ weights·y of every layer apart.
func TestLayerGradients(t *testing.T) {
	src := exprand.NewSource(3)
	layers := map[string]layer[float64]{
		"linear": newLinear[float64](8, 6, 1, src),
		"norm":   newNorm[float64](8),
		"relu":   new(squaredReLU[float64]),
	}
	for name, form := range testForms[float64](4) {
		f, err := form()
		require.NoError(t, err)
		a, err := newAttention(f, 8, 2, 1, src)
		require.NoError(t, err)
		a.length = 3
		layers["attention "+name] = a
		b, err := newBlock(tiny, f, src)
		require.NoError(t, err)
		b.attention.length = 3
		layers["block "+name] = b
	}
	for name, l := range layers {
		t.Run(name, func(t *testing.T) {
			x := normal(6, 8, src)
			for _, p := range l.parameters() {
				for i := range p.value.Data {
					p.value.Data[i] += 0.1 * float64(i%3)
				}
			}
			weights := normal(6, l.forward(x).Cols, src)
			loss := func() (sum float64) {
				for i, y := range l.forward(x).Data {
					sum += weights.Data[i] * y
				}
				return sum
			}
			loss()
			dx := l.backward(weights).Clone()
			var gradients [][]float64
			for _, p := range l.parameters() {
				gradients = append(gradients, p.gradient.Clone().Data)
			}
			assertSlopes(t, loss, x.Data, dx.Data, 1, "input")
			for i, p := range l.parameters() {
				assertSlopes(t, loss, p.value.Data, gradients[i], 3, "parameter")
			}
		})
	}
}

func TestLossGradient(t *testing.T) {
	src := exprand.NewSource(4)
	logits, targets := normal(5, 7, src), []int{0, 6, 3, 3, 1}
	var c crossEntropy[float64]
	loss, d := c.gradient(logits, targets)
	var want float64
	for i, target := range targets {
		var sum float64
		for _, v := range logits.Row(i) {
			sum += math.Exp(v)
		}
		want -= math.Log(math.Exp(logits.At(i, target))/sum) / 5
	}
	assert.InDelta(t, want, loss, 1e-14)
	gradient := d.Clone().Data
	assertSlopes(t, func() float64 { return c.mean(logits, targets) }, logits.Data, gradient, 1, "logits")
}

// TestModelGradients takes the loss of whole models apart.
func TestModelGradients(t *testing.T) {
	b := batch{symbols: []int{0, 3, 4, 1, 1, 2}, next: []int{3, 4, 2, 1, 2, 0}, length: 3}
	for name, form := range testForms[float64](4) {
		t.Run(name, func(t *testing.T) {
			m, err := newModel(tiny, form, exprand.NewSource(5))
			require.NoError(t, err)
			loss := m.gradients(b)
			assert.InDelta(t, loss, m.evaluate(b), 1e-15)
			var gradients [][]float64
			for _, p := range m.parameters() {
				gradients = append(gradients, p.gradient.Clone().Data)
			}
			for i, p := range m.parameters() {
				assertSlopes(t, func() float64 { return m.evaluate(b) }, p.value.Data, gradients[i], 7, "parameter")
			}
		})
	}
}

// TestModelIsCausal: what follows a symbol changes no prediction up to it.
func TestModelIsCausal(t *testing.T) {
	for name, form := range testForms[float32](4) {
		m, err := newModel(tiny, form, exprand.NewSource(6))
		require.NoError(t, err)
		before := m.forward([]int{0, 1, 2, 3, 4, 0, 1, 2}, 4).Clone()
		after := m.forward([]int{0, 1, 2, 0, 4, 0, 1, 3}, 4)
		for _, i := range []int{0, 1, 2, 4, 5, 6} {
			assert.Equal(t, before.Row(i), after.Row(i), "%s, row %d", name, i)
		}
		for _, i := range []int{3, 7} {
			assert.NotEqual(t, before.Row(i), after.Row(i), "%s, row %d", name, i)
		}
		for i := range 3 {
			assert.NotEqual(t, before.Row(i), before.Row(4+i), "%s: sequences differ, row %d", name, i)
		}
	}
}
