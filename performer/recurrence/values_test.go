package recurrence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// repeated returns m with each of n heads of columns repeated.
func repeated[T dense.Float](m dense.Matrix[T], n, times int) dense.Matrix[T] {
	d := m.Cols / n
	out := dense.New[T](m.Rows, m.Cols*times)
	for i := range m.Rows {
		for h := range n * times {
			copy(out.Row(i)[h*d:], m.Row(i)[h/times*d:][:d])
		}
	}
	return out
}

// TestValueHeads: two heads of keys under six of values are six heads of keys, each three times.
// The outputs and states have equal bits, and a gradient of a key is the sum of three.
func TestValueHeads(t *testing.T) {
	for rule := range recurrence.GatedDelta + 1 {
		t.Run(rule.String(), func(t *testing.T) {
			valueHeads[float32](t, rule)
			valueHeads[float64](t, rule)
		})
	}
}

func valueHeads[T dense.Float](t *testing.T, rule recurrence.Rule) {
	const keys, times, d, dv, n = 2, 3, 8, 5, 130
	var none dense.Matrix[T]
	rng := rand.New(rand.NewPCG(1, uint64(rule)))
	wide := recurrenceShape{heads: keys * times, keyHeads: keys * times, d: d, dv: dv, wide: rule == recurrence.Gated, shared: rule == recurrence.Delta}
	narrow := recurrenceShape{heads: keys, keyHeads: keys, d: d, dv: dv}
	y := convertTokens[T](wide.tokens(rng, rule, n))
	qk := convertTokens[T](narrow.tokens(rng, recurrence.Linear, n))
	x := y
	x.Q, x.K = qk.Q, qk.K
	y.Q, y.K = repeated(qk.Q, keys, times), repeated(qk.K, keys, times)
	x.Lengths, y.Lengths = []int{n - 7, 7}, []int{n - 7, 7}
	opts := recurrence.Options{Heads: keys, KeyHeads: keys, ValueHeads: keys * times, Rule: rule, NormaliseKeys: true}
	shared := must.Have(recurrence.New[T](opts))
	own := must.Have(recurrence.New[T](recurrence.Options{Heads: keys * times, Rule: rule, NormaliseKeys: true}))

	states := dense.New[T](2*keys*times*d, dv)
	present := states.Clone()
	want := own.Forward(none, y, none, states)
	assert.Equal(t, want, shared.Forward(none, x, none, present))
	assert.Equal(t, states, present)

	dy := own.Backward(recurrence.Tokens[T]{}, none, y, states, want, present)
	dx := shared.Backward(recurrence.Tokens[T]{}, none, x, states, want, present)
	assert.Equal(t, []dense.Matrix[T]{dy.V, dy.Decay, dy.Beta}, []dense.Matrix[T]{dx.V, dx.Decay, dx.Beta})
	for i := range n {
		for c := range keys * d {
			for name, g := range map[string][2]dense.Matrix[T]{"q": {dx.Q, dy.Q}, "k": {dx.K, dy.K}} {
				sum, size := 0.0, 0.0
				for s := range times {
					v := float64(g[1].At(i, (c/d*times+s)*d+c%d))
					sum, size = sum+v, size+math.Abs(v)
				}
				require.InDelta(t, sum, float64(g[0].At(i, c)), 3*densetest.Roundoff[T]()*size, "%s of token %d, column %d", name, i, c)
			}
		}
	}

	x.Lengths, y.Lengths = nil, nil
	s, other := must.Have(shared.NewState(d, dv)), must.Have(own.NewState(d, dv))
	s.Append(x)
	other.Append(y)
	assert.Equal(t, other.Matrix(), s.Matrix())
	assert.Equal(t, other.Step(none, y), s.Step(none, x))
	assert.Equal(t, other.Attend(none, y.Q), s.Attend(none, x.Q))
	data, fresh := must.Have(s.MarshalBinary()), must.Have(shared.NewState(d, dv))
	require.NoError(t, fresh.UnmarshalBinary(data))
	assert.Equal(t, s.Attend(none, x.Q), fresh.Attend(none, x.Q))
	assert.ErrorContains(t, other.UnmarshalBinary(data), "Heads:2 KeyHeads:2 ValueHeads:6")
}

func TestValueHeadsErrors(t *testing.T) {
	for _, c := range []recurrence.Options{
		{Heads: 2, ValueHeads: 1}, {Heads: 2, ValueHeads: 3}, {Heads: 4, KeyHeads: 2, ValueHeads: 4}, {Heads: 1, ValueHeads: -1},
	} {
		_, err := recurrence.New[float32](c)
		assert.ErrorContains(t, err, fmt.Sprintf("recurrence: ValueHeads = %d", c.ValueHeads))
	}
	r := must.Have(recurrence.New[float32](recurrence.Options{Heads: 1, ValueHeads: 2}))
	x := recurrence.Tokens[float32]{Q: dense.New[float32](1, 4), K: dense.New[float32](1, 4), V: dense.New[float32](1, 4)}
	var none dense.Matrix[float32]
	assert.PanicsWithValue(t, "recurrence: dst is q or k, want other memory for 2 heads of values that share 1 of keys",
		func() { r.Forward(x.Q, x, none, none) })
	assert.NotPanics(t, func() { r.Forward(x.V, x, none, none) })
}
