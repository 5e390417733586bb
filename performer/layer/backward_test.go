package layer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/rff"
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

// Inputs and every parameter, in self- and cross-attention with grouped heads, lengths,
// masks and pasts, with an output projection and without. Padding is NaN.
func TestMultiHeadBackwardIsTheDerivative(t *testing.T) {
	const heads, keyHeads, d, dv, lq, lk = 4, 2, 3, 2, 73, 76
	rng := rand.New(densetest.Source(250))
	cross := performer.Sequences{Queries: []int{3, 70}, Keys: []int{70, 6}, Past: []int{10, 2}, Valid: make([]bool, lk)}
	for j := range cross.Valid {
		cross.Valid[j] = j%3 != 1
	}
	self := performer.Sequences{Queries: []int{3, 70}, Valid: cross.Valid[:lq]}
	for _, w := range []layer.Widths{
		{Input: 6, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, Output: 5, Bias: true},
		{Input: 6, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, NoOutput: true},
		{Input: 5, Keys: 6, Values: 7, Heads: heads, KeyHeads: keyHeads, HeadDim: d, HeadValues: dv, Output: 6, Bias: true},
	} {
		p := must.Have(layer.Draw[float64](w, densetest.Source(251)))
		for _, b := range [][]float64{p.QueryBias, p.KeyBias, p.ValueBias, p.OutputBias} {
			for i := range b {
				b[i] = 0.3 * rng.NormFloat64()
			}
		}
		for _, form := range everyForm[float64](d) {
			l := must.Have(layer.New(p, batch(heads, keyHeads, form), layer.Options{}))
			require.NoError(t, l.CanBackward())
			eq, ek, ev, out := l.Dims()
			q, k, v := densetest.Normal[float64](rng, lq, eq, 0, 1), densetest.Normal[float64](rng, lk, ek, 0, 1), densetest.Normal[float64](rng, lk, ev, 0, 1)
			dout := densetest.Normal[float64](rng, lq, out, 0, 1)
			dw := new(layer.Projections[float64])
			var none dense.Matrix[float64]
			if w.Keys == 0 {
				for j, counts := range self.Valid {
					if !counts && j > 3 {
						fill(q.Row(j), math.NaN())
						clear(dout.Row(j))
					}
				}
				loss := func() float64 { return lossOf(l.Forward(none, q, self), dout) }
				dx := l.Backward(none, dw, q, dout, self)
				requirePartials(t, q.Data, dx.Data, loss, "%T %+v: x", form, form)
				require.Len(t, dw.Parameters(), len(l.Projections().Parameters()))
				for i, g := range dw.Parameters() {
					require.Equal(t, l.Projections().Parameters()[i].Name, g.Name)
					requirePartials(t, l.Projections().Parameters()[i].Value.Data, g.Value.Data, loss, "%T %+v: %s", form, form, g.Name)
				}
				assert.Equal(t, dx, l.Backward(none, nil, q, dout, self), "without parameters")
				y := q.Clone()
				assert.Equal(t, dx, l.Backward(y, nil, y, dout, self), "dx is x")
				continue
			}
			for j, counts := range cross.Valid {
				if !counts {
					fill(k.Row(j), math.NaN())
					fill(v.Row(j), math.NaN())
				}
			}
			loss := func() float64 { return lossOf(l.ForwardCross(none, q, k, v, cross), dout) }
			dq, dk, dv := l.BackwardCross(none, none, none, dw, q, k, v, dout, cross)
			requirePartials(t, q.Data, dq.Data, loss, "%T %+v: q", form, form)
			requirePartials(t, k.Data, dk.Data, loss, "%T %+v: k", form, form)
			requirePartials(t, v.Data, dv.Data, loss, "%T %+v: v", form, form)
			for j, counts := range cross.Valid {
				if !counts {
					require.True(t, isZero(dk.Row(j)) && isZero(dv.Row(j)), "row %d", j)
				}
			}
			for i, g := range dw.Parameters() {
				requirePartials(t, l.Projections().Parameters()[i].Value.Data, g.Value.Data, loss, "%T %+v: %s", form, form, g.Name)
			}
		}
	}
}

// lossOf returns Σ dout∘out over the rows of dout that are not zero.
func lossOf(out, dout dense.Matrix[float64]) float64 {
	sum := 0.0
	for i := range out.Rows {
		if !isZero(dout.Row(i)) {
			for j, x := range out.Row(i) {
				sum += x * dout.Row(i)[j]
			}
		}
	}
	return sum
}

func TestMultiHeadBackwardOfBothTypes(t *testing.T) {
	w := layer.Widths{Input: 12, Heads: 4, KeyHeads: 2, Bias: true}
	rng := rand.New(densetest.Source(252))
	x := densetest.Normal[float32](rng, 100, 12, 0, 1)
	g := densetest.Normal[float32](rng, 100, 12, 0, 1)
	var none dense.Matrix[float64]
	s := performer.Sequences{Queries: []int{30, 70}}
	p, dw := must.Have(layer.Draw[float32](w, densetest.Source(253))), new(layer.Projections[float32])
	q, want := must.Have(layer.Draw[float64](w, densetest.Source(253))), new(layer.Projections[float64])
	for at, m := range p.Parameters() {
		dense.Copy(q.Parameters()[at].Value, m.Value)
	}
	got := must.Have(layer.New(p, exactBatch[float32](4, 2), layer.Options{})).Backward(dense.Matrix[float32]{}, dw, x, g, s)
	dx := must.Have(layer.New(q, exactBatch[float64](4, 2), layer.Options{})).Backward(none, want, dense.Copy(none, x), dense.Copy(none, g), s)
	all, wants := append(dw.Parameters(), layer.Parameter[float32]{"x", got}), append(want.Parameters(), layer.Parameter[float64]{"x", dx})
	for at, m := range wants {
		for i, y := range m.Value.Data {
			require.InDelta(t, y, float64(all[at].Value.Data[i]), 1e-4, "%s, element %d", m.Name, i)
		}
	}
}

func TestMultiHeadBackwardAllocatesNothing(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	w := layer.Widths{Input: 16, Heads: 4, KeyHeads: 2, Bias: true}
	l := must.Have(layer.New(must.Have(layer.Draw[float32](w, densetest.Source(254))), batch(4, 2, must.Have(performer.NewLinear[float32](must.Have(rff.Draw[float32](rff.ELU{D: 4}, nil)), performer.LinearOptions{}))), layer.Options{}))
	x := densetest.Normal[float32](rand.New(densetest.Source(255)), 100, 16, 0, 1)
	dx, dw, s := dense.New[float32](100, 16), new(layer.Projections[float32]), performer.Sequences{Queries: []int{30, 70}, Valid: make([]bool, 100)}
	for j := range s.Valid {
		s.Valid[j] = j%5 > 0
	}
	for _, processors := range []int{1, 2} {
		assert.Zero(t, allocs.Settled(processors, func() { l.Backward(dx, dw, x, x, s) }), "%d processors", processors)
	}
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
