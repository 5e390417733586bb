package layer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Rows, and blocks of rows, are divided by their root mean square.
func TestRMSNorm(t *testing.T) {
	const n, eps = 7, 1e-5
	rng := rand.New(densetest.Source(701))
	m := layer.RMSNorm[float64]{Gain: densetest.Normal[float64](rng, 1, n, 1, 1).Data, Epsilon: eps}
	x := densetest.Normal[float64](rng, 40, 3*n, 5, 1)
	clear(x.Row(3))
	x.Row(4)[n], x.Row(5)[n], x.Row(6)[n] = math.Inf(1), 1e200, math.NaN()
	got := m.Apply(dense.Matrix[float64]{}, x)
	for i := range x.Rows {
		for at := 0; at < x.Cols; at += n {
			sum := 0.0
			for _, v := range x.Row(i)[at : at+n] {
				sum += v * v
			}
			for j, g := range m.Gain {
				want := g * x.At(i, at+j) / math.Sqrt(sum/n+eps)
				if i >= 4 && i <= 6 && at == n {
					want = math.NaN()
				}
				if w, v := want, got.At(i, at+j); !(math.Abs(w-v) < 1e-14*(1+math.Abs(w))) && (w == w || v == v) {
					require.Equal(t, w, v, "row %d, column %d", i, at+j)
				}
			}
		}
	}
	single := layer.RMSNorm[float32]{Gain: []float32{2, 2}}
	y := dense.Of(1, 2, []float32{3, 4})
	assert.Equal(t, y, single.Apply(y, y), "in place")
	assert.InDeltaSlice(t, []float64{2 * 3 / math.Sqrt(12.5), 2 * 4 / math.Sqrt(12.5)}, []float64{float64(y.At(0, 0)), float64(y.At(0, 1))}, 1e-6)
	assert.Equal(t, y, new(layer.RMSNorm[float32]).Apply(dense.Matrix[float32]{}, y), "without gains")
	assert.Equal(t, y, (&layer.RMSNorm[float32]{Gain: []float32{}}).Apply(dense.Matrix[float32]{}, y), "without gains")
	assert.Panics(t, func() { single.Apply(dense.Matrix[float32]{}, dense.New[float32](2, 3)) })
	assert.Panics(t, func() {
		m := layer.RMSNorm[float32]{Gain: []float32{1}, Epsilon: math.NaN()}
		m.Apply(y, y)
	})
	if !race.Detector {
		dst := x.Clone()
		assert.Zero(t, testing.AllocsPerRun(100, func() { m.Apply(dst, x) }))
	}
}

// Attention over the projections, and then the output, is the layer. A layer with other attention
// shares its weights.
func TestProject(t *testing.T) {
	const n, width = 30, 16
	rng := rand.New(densetest.Source(702))
	p := must.Have(layer.Draw[float64](layer.Widths{Input: width, Heads: 4, KeyHeads: 2, Bias: true, NoOutput: true}, densetest.Source(703)))
	p.QueryNorm, p.KeyNorm = []float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}
	exact := batch(4, 2, must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})))
	window := batch(4, 2, must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Window: 5})))
	l := must.Have(layer.New(p, exact, layer.Options{Rotary: &layer.RotaryOptions{}}))
	x := densetest.Normal[float64](rng, n, width, 0, 1)
	s := performer.Sequences{Queries: []int{10, 20}}
	q, k, v := l.Project(x, x, x, s)
	other := must.Have(l.WithAttention(window))
	none := dense.Matrix[float64]{}
	assert.Equal(t, l.Forward(none, x, s).Data, exact.ForwardSequences(none, q, k, v, s).Data)
	assert.Equal(t, other.Forward(none, x, s).Data, window.ForwardSequences(none, q, k, v, s).Data)
	assert.NotEqual(t, l.Forward(none, x, s).Data, other.Forward(none, x, s).Data)
	l.Projections().Query.Row(0)[0]++
	assert.Equal(t, l.Projections().Query.Data, other.Projections().Query.Data, "weights are shared")
	for _, a := range []performer.Batch[float64]{{}, batch(4, 4, must.Have(performer.NewExact[float64](performer.ExactOptions{})))} {
		_, err := l.WithAttention(a)
		assert.Error(t, err)
	}
	_, err := new(layer.MultiHead[float64]).WithAttention(exact)
	assert.Error(t, err)
}
