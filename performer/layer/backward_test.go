package layer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// requirePartials compares elements of a gradient with central differences of the loss.
func requirePartials(t *testing.T, x, dx []float64, loss func() float64, format string, args ...any) {
	t.Helper()
	require.Len(t, dx, len(x))
	size := 0.0
	for _, v := range dx {
		size = max(size, math.Abs(v))
	}
	for _, i := range []int{0, len(x) / 3, len(x) - 1} {
		const step = 1e-4
		was := x[i]
		along := func(t float64) float64 {
			x[i] = was + t
			defer func() { x[i] = was }()
			return loss()
		}
		want := (8*(along(step)-along(-step)) - (along(2*step) - along(-2*step))) / (12 * step)
		// A bias of all keys changes no normalised softmax weight.
		require.InDelta(t, want, dx[i], 1e-6*size+1e-9, "%s: element %d", fmt.Sprintf(format, args...), i)
	}
}

// lossOf returns Σ dout∘out over the rows of dout that are not zero.
func lossOf(out, dout dense.Matrix[float64]) float64 {
	sum := 0.0
	for i := range out.Rows {
		if !layout.IsZero(dout.Row(i)) {
			for j, x := range out.Row(i) {
				sum += x * dout.Row(i)[j]
			}
		}
	}
	return sum
}

func TestMultiHeadBackwardErrors(t *testing.T) {
	l := must.Have(layer.New(goldenProjections[float32](), exactBatch[float32](2, 2), layer.Options{}))
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	for want, f := range map[string]func(){
		"layer: q is 5×3, k is 5×3, v is 5×3, want Lq×4, Lk×4 and Lk×4":      func() { l.Backward(none, nil, mat(5, 3), mat(5, 4), performer.Sequences{}) },
		"layer: dout is 5×3, q is 5×4, want 5×4, a gradient for each output": func() { l.Backward(none, nil, mat(5, 4), mat(5, 3), performer.Sequences{}) },
		"performer: Sequences.Queries is [2 2], want a sum of 5": func() {
			l.Backward(none, nil, mat(5, 4), mat(5, 4), performer.Sequences{Queries: []int{2, 2}})
		},
		"dense: destination is 5×3, want 5×4": func() { l.Backward(mat(5, 3), nil, mat(5, 4), mat(5, 4), performer.Sequences{}) },
		"dense: destination is 4×3, want 4×4": func() {
			l.Backward(none, &layer.Projections[float32]{Key: mat(4, 3)}, mat(5, 4), mat(5, 4), performer.Sequences{})
		},
		"layer: ValueBias has length 3, want 4": func() {
			l.Backward(none, &layer.Projections[float32]{ValueBias: make([]float32, 3)}, mat(5, 4), mat(5, 4), performer.Sequences{})
		},
	} {
		assert.PanicsWithValue(t, want, f)
	}
	underivedLayer := must.Have(layer.New(goldenProjections[float32](), batch(2, 2, must.Have(performer.NewLinear(underived[float32](2), performer.LinearOptions{}))), layer.Options{}))
	const why = "performer: queries: layer_test.opaque[float32] has no derivatives, want an rff.Differentiable"
	assert.EqualError(t, underivedLayer.CanBackward(), why)
	assert.PanicsWithValue(t, why, func() { underivedLayer.Backward(none, nil, mat(5, 4), mat(5, 4), performer.Sequences{}) })

	// What the layer does not have is taken out of the gradients.
	p := goldenProjections[float32]()
	p.Output, p.OutputBias, p.QueryBias, p.KeyBias, p.ValueBias = none, nil, nil, nil, nil
	dw := &layer.Projections[float32]{Output: mat(4, 4), QueryBias: make([]float32, 4)}
	must.Have(layer.New(p, exactBatch[float32](2, 2), layer.Options{})).Backward(none, dw, mat(5, 4), mat(5, 4), performer.Sequences{})
	assert.Len(t, dw.Parameters(), 3)
	assert.Nil(t, dw.QueryBias)
}

// Inputs and every parameter have the gradients of central differences, in self- and
// cross-attention with grouped heads, lengths, masks and pasts, for all forms, with norms, rotary
// positions and an output projection and without. Padding is NaN.
func TestMultiHeadBackwardIsTheDerivative(t *testing.T) {
	const heads, keyHeads, d, dv, lq, lk = 4, 2, 4, 2, 73, 76
	rng := rand.New(densetest.Source(250))
	cross := performer.Sequences{Queries: []int{3, 70}, Keys: []int{70, 6}, Past: []int{10, 2}, Valid: make([]bool, lk)}
	for j := range cross.Valid {
		cross.Valid[j] = j%3 != 1
	}
	self := performer.Sequences{Queries: []int{3, 70}, Valid: cross.Valid[:lq]}
	own := make([]int, lq)
	for i := range own {
		own[i] = rng.IntN(100)
	}
	var none dense.Matrix[float64]
	for at, w := range []layer.Widths{
		{Input: 6, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, Bias: true},
		{Input: 6, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, NoOutput: true},
		{Input: 5, Keys: 6, Values: 7, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, Output: 6, Bias: true},
	} {
		for i, form := range everyForm[float64](d) {
			name := append(sortedBetween, "none")[(i+2*at)%6]
			l := must.Have(layer.New(drawnBetween[float64](name, w, 251), batch(heads, keyHeads, form), between[name].opts))
			require.NoError(t, l.CanBackward())
			parameters := l.Projections().Parameters()
			eq, ek, ev, out := l.Dims()
			q, k, v := densetest.Normal[float64](rng, lq, eq, 0, 1), densetest.Normal[float64](rng, lk, ek, 0, 1), densetest.Normal[float64](rng, lk, ev, 0, 1)
			dout := densetest.Normal[float64](rng, lq, out, 0, 1)
			dw := &layer.Projections[float64]{Query: densetest.Filled(heads*d, eq, 9.0)}
			if n := len(l.Projections().KeyNorm); n > 0 {
				dw.KeyNorm = densetest.Filled(1, n, 9.0).Data
			}
			for j, counts := range cross.Valid {
				if !counts {
					layout.Fill(k.Row(j), math.NaN())
					layout.Fill(v.Row(j), math.NaN())
				}
			}
			loss := func() float64 { return lossOf(l.ForwardCross(none, q, k, v, cross), dout) }
			check := func(what string, x, dx dense.Matrix[float64]) {
				t.Helper()
				requirePartials(t, x.Data, dx.Data, loss, "%s, %T %+v: %s", name, form, form, what)
			}
			checkParameters := func() {
				t.Helper()
				require.Len(t, dw.Parameters(), len(parameters))
				for i, g := range dw.Parameters() {
					require.Equal(t, parameters[i].Name, g.Name)
					check(g.Name, parameters[i].Value, g.Value)
				}
			}
			dq, dk, dv := l.BackwardCross(none, none, none, dw, q, k, v, dout, cross)
			check("q", q, dq)
			check("k", k, dk)
			check("v", v, dv)
			checkParameters()
			for j, counts := range cross.Valid {
				require.True(t, counts || layout.IsZero(dk.Row(j)) && layout.IsZero(dv.Row(j)), "row %d", j)
			}
			if w.Keys != 0 {
				continue
			}
			if between[name].opts.Rotary != nil {
				l = l.WithPositions(own, own)
			}
			for j, counts := range self.Valid {
				if !counts && j > 3 {
					layout.Fill(q.Row(j), math.NaN())
					clear(dout.Row(j))
				}
			}
			loss = func() float64 { return lossOf(l.Forward(none, q, self), dout) }
			dx := l.Backward(none, dw, q, dout, self)
			check("x", q, dx)
			checkParameters()
			y := q.Clone()
			assert.Equal(t, dx, l.Backward(y, nil, y, dout, self), "dx is x, without parameters")
			if y = dout.Clone(); out == eq {
				assert.Equal(t, dx, l.Backward(y, nil, q, y, self), "dx is dout")
			}
		}
	}
}
