package layer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// turned returns rows turned by the definition, pair by pair, for heads of d coordinates of which
// dim turn.
func turned(x dense.Matrix[float64], positions []int, d, dim int, base float64, neighbours bool) dense.Matrix[float64] {
	y := x.Clone()
	for t, p := range positions {
		for h := 0; h < x.Cols; h += d {
			for i := range dim / 2 {
				first, second := h+i, h+i+dim/2
				if neighbours {
					first, second = h+2*i, h+2*i+1
				}
				angle := float64(p) / math.Pow(base, 2*float64(i)/float64(dim))
				a, b := x.At(t, first), x.At(t, second)
				y.Set(t, first, a*math.Cos(angle)-b*math.Sin(angle))
				y.Set(t, second, a*math.Sin(angle)+b*math.Cos(angle))
			}
		}
	}
	return y
}

var rotaryCases = []struct {
	d, dim int
	base   float64
}{{8, 0, 0}, {8, 8, 500000}, {8, 4, 0}, {7, 6, 100}, {2, 2, 10}, {1, 0, 0}, {64, 0, 0}}

// TestRotaryIsItsDefinition: positions go to 100,000. The relative error of an angle is some
// 2⁻⁵² from the power, so that of a turned coordinate is at most 1e5·2⁻⁵²·|x| = 3e-11 there, and
// 1e-12 below 4096.
func TestRotaryIsItsDefinition(t *testing.T) {
	for _, c := range rotaryCases {
		for _, neighbours := range []bool{false, true} {
			t.Run(fmt.Sprintf("d=%d,dim=%d,neighbours=%v", c.d, c.dim, neighbours), func(t *testing.T) {
				opts := layer.RotaryOptions{Dim: c.dim, Base: c.base, Neighbours: neighbours}
				dim, base := c.dim, c.base
				if dim == 0 {
					dim = c.d - c.d%2
				}
				if base == 0 {
					base = 10000
				}
				if c.d%2 == 1 && c.dim == 0 {
					_, err := layer.NewRotary[float64](c.d, opts)
					require.ErrorContains(t, err, "even")
					return
				}
				positions := []int{0, 1, 7, 4095, -3, 100_000, 7}
				x := sines[float64](len(positions), 3*c.d, 0.7)
				want := turned(x, positions, c.d, dim, base, neighbours)
				angles := must.Have(layer.NewRotary[float64](c.d, opts)).Angles(layer.Angles[float64]{}, positions)
				y := x.Clone()
				angles.Turn(y)
				for i, p := range positions {
					tolerance := 1e-12
					if p > 4096 {
						tolerance = 3e-11
					}
					for j := range y.Cols {
						require.InDelta(t, want.At(i, j), y.At(i, j), tolerance, "position %d, column %d", p, j)
					}
				}
				angles.TurnBack(y)
				for i, v := range x.Data {
					require.InDelta(t, v, y.Data[i], 1e-15*4, "turned back, element %d", i)
				}

				narrow := must.Have(layer.NewRotary[float32](c.d, opts)).Angles(layer.Angles[float32]{}, positions)
				y32 := sines[float32](len(positions), 3*c.d, 0.7)
				narrow.Turn(y32)
				for i, v := range want.Data {
					// Cosine, coordinate, product and sum are each rounded once: 4·2⁻²⁴·(|a|+|b|).
					require.InDelta(t, v, float64(y32.Data[i]), 8*0x1p-24+3e-11, "float32, element %d", i)
				}
			})
		}
	}
}

// TestRotaryAxes: pairs of an axis turn as in a Rotary of one axis at the positions on that axis,
// and a layer gives text one position on all axes.
func TestRotaryAxes(t *testing.T) {
	axes := []int{0, 1, 2, 2}
	for _, neighbours := range []bool{false, true} {
		one := must.Have(layer.NewRotary[float64](8, layer.RotaryOptions{Neighbours: neighbours}))
		r := must.Have(layer.NewRotary[float64](8, layer.RotaryOptions{Neighbours: neighbours, Axes: axes}))
		x := sines[float64](2, 16, 0.7)
		y := x.Clone()
		r.Angles(layer.Angles[float64]{}, []int{5, 7, 11, 6, 0, -3}).Turn(y)
		for axis, positions := range [][]int{{5, 6}, {7, 0}, {11, -3}} {
			want := x.Clone()
			one.Angles(layer.Angles[float64]{}, positions).Turn(want)
			for c := range x.Cols {
				pair := c % 8 % 4
				if neighbours {
					pair = c % 8 / 2
				}
				if axes[pair] == axis {
					assert.Equal(t, []float64{want.At(0, c), want.At(1, c)}, []float64{y.At(0, c), y.At(1, c)}, "axis %d, column %d", axis, c)
				}
			}
		}
		assert.PanicsWithValue(t, "layer: 4 rotary positions, want 3 for each token", func() { r.Angles(layer.Angles[float64]{}, make([]int, 4)) })
	}

	p := must.Have(layer.Draw[float64](layer.Widths{Input: 8, Heads: 2, KeyHeads: 1, HeadDim: 8}, rand.NewPCG(1, 2)))
	batch := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 2, KeyHeads: 1},
		must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}))))
	plain := must.Have(layer.New(p, batch, layer.Options{Rotary: &layer.RotaryOptions{}}))
	l := must.Have(layer.New(p, batch, layer.Options{Rotary: &layer.RotaryOptions{Axes: axes}}))
	x, s := sines[float64](5, 8, 1.3), performer.Sequences{Queries: []int{3, 2}, Past: []int{0, 4}, Keys: []int{3, 6}}
	own, text := x.RowRange(0, 3), performer.Sequences{}
	assert.Equal(t, plain.Forward(dense.Matrix[float64]{}, own, text), l.Forward(dense.Matrix[float64]{}, own, text))
	k := sines[float64](9, 8, 0.9)
	assert.Equal(t, plain.ForwardCross(dense.Matrix[float64]{}, x, k, k, s), l.ForwardCross(dense.Matrix[float64]{}, x, k, k, s))
	at := []int{0, 0, 0, 1, 1, 1, 1, 1, 2}
	picture := l.WithPositions(at, at).Forward(dense.Matrix[float64]{}, own, text)
	assert.Equal(t, plain.Forward(dense.Matrix[float64]{}, own, text).Row(1), l.WithPositions([]int{0, 0, 0, 1, 1, 1, 2, 2, 2}, []int{0, 0, 0, 1, 1, 1, 2, 2, 2}).Forward(dense.Matrix[float64]{}, own, text).Row(1))
	assert.NotEqual(t, plain.Forward(dense.Matrix[float64]{}, own, text).Row(2), picture.Row(2))
	assert.PanicsWithValue(t, "layer: WithPositions has 3 positions of queries, want 3 for each of 3 rows",
		func() { l.WithPositions(at[:3], nil).Forward(dense.Matrix[float64]{}, own, text) })
	states := must.Have(l.NewState())
	assert.InDeltaSlice(t, l.Forward(dense.Matrix[float64]{}, own, text).Data, l.Step(dense.Matrix[float64]{}, own, states).Data, 1e-14)

	for want, axes := range map[string][]int{
		"layer: 3 Axes for 4 pairs of coordinates, want one for each pair": {0, 1, 2},
		"layer: Axes[1] = -1, want an axis of 0 to 15":                     {0, -1, 0, 0},
		"layer: Axes[3] = 16, want an axis of 0 to 15":                     {0, 0, 0, 16},
	} {
		_, err := layer.NewRotary[float32](8, layer.RotaryOptions{Axes: axes})
		assert.EqualError(t, err, want)
	}
}

func TestRotaryErrors(t *testing.T) {
	for _, c := range []struct {
		d    int
		opts layer.RotaryOptions
		want string
	}{
		{0, layer.RotaryOptions{}, "heads of 0 coordinates"},
		{-2, layer.RotaryOptions{}, "heads of -2 coordinates"},
		{4, layer.RotaryOptions{Dim: 6}, "turn 6 of 4"},
		{4, layer.RotaryOptions{Dim: 3}, "turn 3 of 4"},
		{4, layer.RotaryOptions{Dim: -2}, "turn -2 of 4"},
		{5, layer.RotaryOptions{}, "turn 5 of 5"},
		{4, layer.RotaryOptions{Base: 1}, "base of rotary positions is 1"},
		{4, layer.RotaryOptions{Base: math.NaN()}, "NaN"},
		{4, layer.RotaryOptions{Base: math.Inf(1)}, "+Inf"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryLinear{Factor: 0.5}}, "0.5"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryLinear{Factor: math.NaN()}}, "NaN"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryLinear{}}, "factor of rotary scaling is 0"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(*layer.RotaryLongRoPE) {})}, ""},
		{6, layer.RotaryOptions{Scaling: longRoPE(func(*layer.RotaryLongRoPE) {})}, "2 elements of Short and 2 of Long, want one for each of 3"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Short = nil })}, "0 elements of Short and 2 of Long"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Long[1] = math.NaN() })}, "Long[1] = NaN"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Long[1] = math.Inf(1) })}, "Long[1] = +Inf"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Short[0], s.Tokens = -1, 8 })}, "Short[0] = -1"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Short[0], s.Tokens = 0.3, 8 })}, "Short[0] = 0.3"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Factor = 0.5 })}, "factor of rotary scaling is 0.5"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Context = 1 })}, "Context = 1 and Tokens = 9"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Tokens = 0 })}, "Context = 8 and Tokens = 0"},
		{4, layer.RotaryOptions{Scaling: longRoPE(func(s *layer.RotaryLongRoPE) { s.Length = math.NaN() })}, "Length = NaN"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryYaRN{Factor: 2}}, "context of 0"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryYaRN{Factor: 2, Context: 8, Fast: 1, Slow: 2}}, "Slow = 2"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryYaRN{Factor: math.Inf(1), Context: 8}}, "+Inf"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryLlama3{Factor: 8, LowFrequency: 4, HighFrequency: 3, Context: 8}}, "4 and 3"},
		{4, layer.RotaryOptions{Scaling: layer.RotaryLlama3{Factor: 8, LowFrequency: 1, HighFrequency: 4}}, "context of 0"},
	} {
		_, err := layer.NewRotary[float32](c.d, c.opts)
		if c.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, c.want)
	}
	angles := must.Have(layer.NewRotary[float32](4, layer.RotaryOptions{})).Angles(layer.Angles[float32]{}, []int{1})
	assert.PanicsWithValue(t, "layer: rotary positions of 1 tokens and heads of 4 coordinates for a matrix of 2×8",
		func() { angles.Turn(dense.New[float32](2, 8)) })
	assert.Panics(t, func() { angles.TurnBack(dense.New[float32](1, 6)) })
}

// longRoPE returns a valid scaling of two pairs of coordinates, changed.
func longRoPE(change func(*layer.RotaryLongRoPE)) layer.RotaryLongRoPE {
	s := layer.RotaryLongRoPE{Short: []float64{1, 2}, Long: []float64{1, 4}, Factor: 2, Context: 8, Tokens: 9}
	change(&s)
	return s
}
