package recurrence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// A stream, token by token and in parts cut anywhere, gives the rows of Forward.
func TestStateIsForward(t *testing.T) {
	densetest.Both(t, testState[float32], testState[float64])
}

func testState[T dense.Float](t *testing.T) {
	const n = 150
	rng := rand.New(densetest.Source(320))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 4, keyHeads: 2, d: 5, dv: 3, wide: wide}
		opts := recurrence.Options{Heads: 4, KeyHeads: 2, Rule: rule, NormaliseKeys: true}
		x := convertTokens[T](shape.tokens(rng, rule, n))
		const dk = 5
		r := must.Have(recurrence.New[T](opts))
		sums := dense.New[T](2*dk, 3)
		want := dense.Copy(dense.Matrix[float64]{}, r.Forward(dense.Matrix[T]{}, x, dense.Matrix[T]{}, sums))
		wantSums := dense.Copy(dense.Matrix[float64]{}, sums)

		s := must.Have(r.NewState(5, 3))
		requireNear(t, want, s.Step(dense.Matrix[T]{}, x), recurrenceTolerance[T](), "%v: step", rule)
		requireNear(t, wantSums, s.Matrix(), recurrenceTolerance[T](), "%v: sums after steps", rule)
		require.Equal(t, n, s.Len())

		s = must.Have(r.NewState(5, 3))
		assert.Zero(t, s.Len())
		for lo := 0; lo < n; {
			hi := min(lo+rng.IntN(90), n) // 0 tokens among them
			s.Append(rowsOf(x, lo, hi))
			if hi > lo {
				requireNear(t, want.RowRange(hi-1, hi), s.Attend(dense.Matrix[T]{}, x.Q.RowRange(hi-1, hi)), 100*recurrenceTolerance[T](), "%v: up to %d", rule, hi)
			}
			lo = hi
		}
		require.Equal(t, n, s.Len())
		requireNear(t, wantSums, s.Matrix(), recurrenceTolerance[T](), "%v: sums", rule)
	})
}

// Append and Attend of one token have the bits of Step, whose output may go into an input;
// what is cloned, or written and read, goes on with the same bits; nothing is allocated.
func TestStateCalls(t *testing.T) {
	densetest.Both(t, testStateCalls[float32], testStateCalls[float64])
}

func testStateCalls[T dense.Float](t *testing.T) {
	const n = 20
	rng := rand.New(densetest.Source(321))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 2, keyHeads: 2, d: 4, dv: 4, wide: wide}
		x := convertTokens[T](shape.tokens(rng, rule, n))
		r := must.Have(recurrence.New[T](recurrence.Options{Heads: 2, Rule: rule}))
		whole, parts := must.Have(r.NewState(4, 4)), must.Have(r.NewState(4, 4))
		want := whole.Step(dense.Matrix[T]{}, x)
		for i := range n {
			parts.Append(rowsOf(x, i, i+1))
			require.True(t, densetest.Identical(want.RowRange(i, i+1), parts.Attend(dense.Matrix[T]{}, x.Q.RowRange(i, i+1))), "%v token %d", rule, i)
		}
		for which := range 3 {
			y := convertTokens[T](convertTokens[float64](x))
			dst := []dense.Matrix[T]{y.Q, y.K, y.V}[which]
			require.True(t, densetest.Identical(want, must.Have(r.NewState(4, 4)).Step(dst, y)), "%v: into input %d", rule, which)
		}

		data := must.Have(whole.MarshalBinary())
		again, clone := must.Have(r.NewState(4, 4)), whole.Clone()
		again.Append(x) // which is to be forgotten
		require.NoError(t, again.UnmarshalBinary(data))
		require.Equal(t, data, must.Have(again.MarshalBinary()))
		require.Equal(t, data, must.Have(clone.MarshalBinary()))
		require.Equal(t, n, again.Len())
		next := whole.Step(dense.Matrix[T]{}, x)
		require.True(t, densetest.Identical(next, again.Step(dense.Matrix[T]{}, x)))
		require.True(t, densetest.Identical(next, clone.Step(dense.Matrix[T]{}, x)))

		if !race.Detector {
			one := rowsOf(x, 0, 1)
			require.Zero(t, allocs.Settled(1, func() {
				whole.Step(next.RowRange(0, 1), one)
				whole.Append(one)
				whole.Append(x)
				whole.Attend(next, x.Q)
			}), "%v", rule)
		}
	})
}

func TestStateErrors(t *testing.T) {
	of := func(opts recurrence.Options, heads int) recurrence.Recurrence[float32] {
		opts.Heads = heads
		return must.Have(recurrence.New[float32](opts))
	}
	r := of(recurrence.Options{}, 1)
	s := must.Have(r.NewState(4, 3))
	for want, err := range map[string]error{
		"recurrence: d = 0, dv = 3, want at least 1": second(r.NewState(0, 3)),
		"recurrence: d = 4, dv = 0, want at least 1": second(r.NewState(4, 0)),
	} {
		assert.EqualError(t, err, want)
	}

	mat := dense.New[float32]
	for want, f := range map[string]func(){
		"recurrence: k is 2×4, v is 2×2, want n×4 and n×3 for 1 heads of the state": func() { s.Append(recurrence.Tokens[float32]{K: mat(2, 4), V: mat(2, 2)}) },
		"recurrence: q is 2×3, want n×4 for 1 heads of the state":                   func() { s.Attend(mat(2, 3), mat(2, 3)) },
		"recurrence: q is 1×4, k is 2×4, want as many queries as keys":              func() { s.Step(mat(2, 3), recurrence.Tokens[float32]{Q: mat(1, 4), K: mat(2, 4), V: mat(2, 3)}) },
		"recurrence: Tokens.Lengths is [2], want nil for a state, which has one sequence": func() {
			s.Append(recurrence.Tokens[float32]{K: mat(2, 4), V: mat(2, 3), Lengths: []int{2}})
		},
	} {
		assert.PanicsWithValue(t, want, f)
	}
}

// The parts of a small state, worked out by hand: one key 2 with value 3 and decay −1 gives the sum
// 6. States of other recurrences and arrays of other sizes are errors that name the difference.
//
//ci:portable
func TestStateGolden(t *testing.T) {
	s := must.Have(must.Have(recurrence.New[float64](recurrence.Options{Heads: 2, KeyHeads: 1, Rule: recurrence.Gated})).NewState(1, 1))
	s.Append(recurrence.Tokens[float64]{K: densetest.Filled[float64](1, 1, 2), V: densetest.Filled[float64](1, 1, 3), Decay: densetest.Filled[float64](1, 1, -1)})
	data := must.Have(s.MarshalBinary())
	f := must.Have(safetensors.View(data))
	for key, want := range map[string]string{
		"rule": "1", "normaliseKeys": "false", "heads": "2", "keyHeads": "1", "d": "1", "dV": "1", "tokens": "1",
	} {
		assert.Equal(t, want, f.Metadata["state."+key], key)
	}
	assert.Equal(t, []float64{6}, must.Have(safetensors.Floats[float64](f.Tensors["state.sums"])))

	const of = "recurrence: state of {Rule:%s NormaliseKeys:%s Heads:%s KeyHeads:1 ValueHeads:1 D:1 DV:1}, want {Rule:gated NormaliseKeys:false Heads:2 KeyHeads:1 ValueHeads:1 D:1 DV:1}"
	for _, c := range []struct{ key, value, want string }{
		{"rule", "2", fmt.Sprintf(of, "delta", "false", "2")},
		{"normaliseKeys", "true", fmt.Sprintf(of, "gated", "true", "2")},
		{"heads", "3", fmt.Sprintf(of, "gated", "false", "3")},
	} {
		assert.EqualError(t, s.UnmarshalBinary(must.Have(archive.Changed(data, func(f *safetensors.File) { f.Metadata["state."+c.key] = c.value }))), c.want)
	}
	assert.EqualError(t, s.UnmarshalBinary(must.Have(archive.Changed(data, func(f *safetensors.File) {
		f.Tensors["state.sums"] = must.Have(safetensors.FromFloats([]int{2, 1}, []float64{1, 2}))
	}))), "recurrence: state with 2×1 sums, want 1×1")
}
