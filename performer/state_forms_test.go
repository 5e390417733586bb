package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// stateCase is a Batch whose State is looked at: one form, or one for each head of queries.
type stateCase[T dense.Float] struct {
	name            string
	heads, keyHeads int
	forms           []performer.Attention[T]
}

// causalForm returns form with Causal set.
func causalForm[T dense.Float](form performer.Attention[T]) performer.Attention[T] {
	if e, ok := form.(performer.Exact[T]); ok {
		o := e.Options()
		o.Causal = true
		return must.Have(performer.NewExact[T](o))
	}
	a := form.(performer.Linear[T])
	opts := performer.InsideOf(a).Options
	opts.Causal = true
	return must.Have(performer.NewLinearOf(performer.InsideOf(a).Query, performer.InsideOf(a).Key, opts))
}

// batch returns the Batch of the case, and that of causal forms.
func (c stateCase[T]) batch() (all, past performer.Batch[T]) {
	var forms []performer.Attention[T]
	for i, f := range c.forms {
		if i > 0 && f == c.forms[i-1] {
			forms = append(forms, forms[i-1])
		} else {
			forms = append(forms, causalForm(f))
		}
	}
	return must.Have(performer.NewBatch(performer.BatchOptions{Heads: c.heads, KeyHeads: c.keyHeads}, c.forms...)), must.Have(performer.NewBatch(performer.BatchOptions{Heads: c.heads, KeyHeads: c.keyHeads}, forms...))
}

// form returns the form of a head of queries.
func (c stateCase[T]) form(h int) performer.Attention[T] {
	if len(c.forms) == 1 {
		return c.forms[0]
	}
	return c.forms[h]
}

// stateCases are Batches of every form that has a State, with heads of keys for each head of
// queries, for some and for all, and with several forms in one group of heads and beyond.
func stateCases[T dense.Float](d int) (all []stateCase[T]) {
	w := maptest.Frequencies[T](16, d)
	positive, trig := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w)), must.Have(rff.Draw(rff.Gaussian{LengthScale: 4}, w))
	forms := []performer.Attention[T]{
		attention[T](positive, performer.LinearOptions{}), attention[T](maptest.Positive[T](8, d), performer.LinearOptions{}),
		attention[T](trig, performer.LinearOptions{}), attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{}),
		must.Have(performer.NewExact[T](performer.ExactOptions{})), must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.3}})), must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})), must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.3}, Bits: 4})),
	}
	for i, f := range forms {
		for _, heads := range [][2]int{{1, 1}, {3, 3}, {4, 2}, {5, 1}} {
			all = append(all, stateCase[T]{fmt.Sprintf("form %d, %v heads", i, heads), heads[0], heads[1], []performer.Attention[T]{f}})
		}
	}
	a, b, e, c := forms[0], forms[2], forms[4], forms[6]
	return append(all,
		stateCase[T]{"codes and elements", 4, 2, []performer.Attention[T]{c, c, e, c}},
		stateCase[T]{"a form a head", 3, 3, []performer.Attention[T]{a, b, e}},
		stateCase[T]{"runs of groups", 6, 3, []performer.Attention[T]{a, a, a, a, e, e}},
		stateCase[T]{"forms within groups", 6, 2, []performer.Attention[T]{a, e, e, e, e, b}},
		stateCase[T]{"runs across groups", 8, 2, []performer.Attention[T]{a, b, b, b, b, e, e, e}},
	)
}

// Token by token, a State of any form gives the rows of causal attention: those of exact attention
// to the bit, or in few bits nearly, those of linear attention within the bound of the naive sum. A
// State that is one token behind does not.
func TestStateOfEveryForm(t *testing.T) {
	densetest.Both(t, testStateOfEveryForm[float32], testStateOfEveryForm[float64])
}

func testStateOfEveryForm[T dense.Float](t *testing.T) {
	const n, d, dv = 300, 4, 3 // more than the keys of a tile of scores
	rng := rand.New(densetest.Source(471))
	for _, c := range stateCases[T](d) {
		_, past := c.batch()
		all, _ := c.batch()
		q, k, v := rowsOf[T](rng, n, c.heads*d), rowsOf[T](rng, n, c.keyHeads*d), rowsOf[T](rng, n, c.keyHeads*dv)
		want := past.Forward(dense.Matrix[T]{}, q, k, v)
		s, late := must.Have(all.NewState(d, dv)), must.Have(past.NewState(d, dv))
		got, behind := dense.New[T](n, c.heads*dv), dense.New[T](n, c.heads*dv)
		empty := s.Attend(densetest.Filled[T](2, c.heads*dv, 7), q.RowRange(0, 2))
		require.True(t, layout.IsZero(empty.Data), "%s: no tokens", c.name)
		for i := range n {
			s.Step(rowOf(got, i), rowOf(q, i), rowOf(k, i), rowOf(v, i))
			late.Attend(rowOf(behind, i), rowOf(q, i))
			late.Append(rowOf(k, i), rowOf(v, i))
		}
		for h := range c.heads {
			c.requireHead(t, h, q, k, v, want, got)
			require.False(t, densetest.Identical(layout.Head(want, h, c.heads), layout.Head(behind, h, c.heads)), "%s: a token behind", c.name)
		}
		require.Equal(t, n, s.Len())
	}
}

// requireHead requires that the outputs of a head are those of causal attention.
func (c stateCase[T]) requireHead(t *testing.T, h int, q, k, v, want, got dense.Matrix[T]) {
	t.Helper()
	keys := h * c.keyHeads / c.heads
	want, got = layout.Head(want, h, c.heads), layout.Head(got, h, c.heads)
	a, linear := causalForm(c.form(h)).(performer.Linear[T])
	if !linear {
		c.requireExact(t, h, want, got)
		return
	}
	truth, tol := newPairs(a, layout.Head(q, h, c.heads), layout.Head(k, keys, c.keyHeads)).attend(dense.Copy(dense.Matrix[float64]{}, layout.Head(v, keys, c.keyHeads)))
	densetest.RequireClose(t, truth, tol, got, "%s, head %d", c.name, h)
}

// requireExact requires that the outputs of a head of exact attention are those of Forward.
func (c stateCase[T]) requireExact(t *testing.T, h int, want, got dense.Matrix[T]) {
	t.Helper()
	if c.form(h).(performer.Exact[T]).Options().Bits == 0 {
		require.True(t, densetest.Identical(want, got), "%s, head %d", c.name, h)
		return
	}
	require.Less(t, offBy(got, want), 0.1, "%s, head %d", c.name, h)
}

// Step of many tokens has the bits of a token each, and they those of Append and Attend;
// queries of a few rows have those of a row each, and outputs may go into inputs.
func TestStateCallsOfEveryForm(t *testing.T) {
	densetest.Both(t, testStateCallsOfEveryForm[float32], testStateCallsOfEveryForm[float64])
}

func testStateCallsOfEveryForm[T dense.Float](t *testing.T) {
	const n, d = 80, 4
	rng := rand.New(densetest.Source(472))
	for _, c := range stateCases[T](d) {
		b, _ := c.batch()
		q, k, v := rowsOf[T](rng, n, c.heads*d), rowsOf[T](rng, n, c.keyHeads*d), rowsOf[T](rng, n, c.keyHeads*d)
		many, one, apart := must.Have(b.NewState(d, d)), must.Have(b.NewState(d, d)), must.Have(b.NewState(d, d))
		want := many.Step(dense.Matrix[T]{}, q, k, v)
		for i := range n {
			require.True(t, densetest.Identical(rowOf(want, i), one.Step(dense.Matrix[T]{}, rowOf(q, i), rowOf(k, i), rowOf(v, i))), "%s, token %d", c.name, i)
			apart.Append(rowOf(k, i), rowOf(v, i))
			require.True(t, densetest.Identical(rowOf(want, i), apart.Attend(dense.Matrix[T]{}, rowOf(q, i))), "%s, token %d", c.name, i)
		}
		few := apart.Attend(dense.Matrix[T]{}, q.RowRange(0, 3))
		for i := range 3 {
			require.True(t, densetest.Identical(rowOf(few, i), apart.Attend(dense.Matrix[T]{}, rowOf(q, i))), c.name)
		}
		in := q.Clone()
		require.True(t, densetest.Identical(want, must.Have(b.NewState(d, d)).Step(in, in, k, v)), "%s: into q", c.name)
		if c.heads == c.keyHeads {
			in = v.Clone()
			require.True(t, densetest.Identical(want, must.Have(b.NewState(d, d)).Step(in, q, k, in)), "%s: into v", c.name)
			in = k.Clone()
			require.True(t, densetest.Identical(want, must.Have(b.NewState(d, d)).Step(in, q, in, v)), "%s: into k", c.name)
		}
	}
}

// The same forms in runs of other lengths are another Batch.
func TestStateRefusesOtherRuns(t *testing.T) {
	const d, dv = 4, 3
	var a, e performer.Attention[float64] = attention(maptest.Positive[float64](16, d), performer.LinearOptions{}), must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	state := func(forms ...performer.Attention[float64]) *performer.State[float64] {
		return must.Have(must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4}, forms...)).NewState(d, dv))
	}
	s := state(a, e, e, e)
	require.Equal(t, 2, s.Units())
	assert.EqualError(t, s.Merge(state(a, a, e, e)), "performer: other has one attention for the heads 0 to 1, the state for 0 to 0")
	assert.EqualError(t, s.Merge(state(a, e, a, e)), "performer: other has 4 runs of heads with one attention each, the state 2")
	assert.EqualError(t, s.Merge(state(e, a, a, a)), `performer: other with "linear attention = false", want "linear attention = true"`)
	assert.EqualError(t, state(e, a, a, a).Merge(s), `performer: other with "linear attention = true", want "linear attention = false"`)
	scaled := must.Have(performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Scale: 0.3}}))
	assert.EqualError(t, s.Merge(state(a, scaled, scaled, scaled)), `performer: other with "Scale = 0.3", want "Scale = 0.5"`)
	assert.NoError(t, s.Merge(state(a, causalForm(e), causalForm(e), causalForm(e))), "causal or not")
}

// Parts merge to the whole, to rounding, whatever their order; a State may be merged with
// itself, and other is left as it was.
//
//ci:portable
func TestStateMergeOfEveryForm(t *testing.T) {
	densetest.Both(t, testStateMergeOfEveryForm[float32], testStateMergeOfEveryForm[float64])
}

func testStateMergeOfEveryForm[T dense.Float](t *testing.T) {
	const n, d, dv = 90, 4, 3
	rng := rand.New(densetest.Source(476))
	for _, c := range stateCases[T](d) {
		b, _ := c.batch()
		q, k, v := rowsOf[T](rng, 5, c.heads*d), rowsOf[T](rng, n, c.keyHeads*d), rowsOf[T](rng, n, c.keyHeads*dv)
		for i := range n { // references of sums that differ
			for j := range k.Cols {
				k.Row(i)[j] *= T(1 + i/30)
			}
		}
		whole := must.Have(b.NewState(d, dv))
		whole.Append(k, v)
		want := dense.Copy(dense.Matrix[float64]{}, whole.Attend(dense.Matrix[T]{}, q))
		tol := densetest.Filled(5, c.heads*dv, n*densetest.Roundoff[T]()) // other orders of sums
		for i, x := range want.Data {
			tol.Data[i] *= 1 + math.Abs(x)
		}
		var parts [3]*performer.State[T]
		for p := range parts {
			parts[p] = must.Have(b.NewState(d, dv))
			parts[p].Append(k.RowRange(30*p, 30*p+30), v.RowRange(30*p, 30*p+30))
		}
		for _, order := range [][3]int{{0, 1, 2}, {2, 0, 1}} {
			s := must.Have(b.NewState(d, dv))
			for _, p := range order {
				before := must.Have(parts[p].MarshalBinary())
				require.NoError(t, s.Merge(parts[p]))
				require.Equal(t, before, must.Have(parts[p].MarshalBinary()), c.name)
			}
			require.Equal(t, n, s.Len())
			densetest.RequireClose(t, want, tol, s.Attend(dense.Matrix[T]{}, q), "%s: %v", c.name, order)
		}
		twice := parts[0].Clone()
		require.NoError(t, twice.Merge(twice))
		again := parts[0].Clone()
		require.NoError(t, again.Merge(parts[0]))
		require.Equal(t, 60, twice.Len())
		require.True(t, densetest.Identical(again.Attend(dense.Matrix[T]{}, q), twice.Attend(dense.Matrix[T]{}, q)), "%s: with itself", c.name)
	}
}

// Rollback takes back tokens, a prompt, a merge and what was read: outputs and bytes have the
// bits that they would have had, and Snapshot itself changes none. Without Rollback they differ.
func TestStateRollback(t *testing.T) {
	densetest.Both(t, testStateRollback[float32], testStateRollback[float64])
}

func testStateRollback[T dense.Float](t *testing.T) {
	const n, d, dv = 300, 4, 3 // past 256 tokens, where float32 adds up the sums of single ones
	rng := rand.New(densetest.Source(477))
	for _, c := range stateCases[T](d) {
		b, _ := c.batch()
		q, k, v := rowsOf[T](rng, n, c.heads*d), rowsOf[T](rng, n, c.keyHeads*d), rowsOf[T](rng, n, c.keyHeads*dv)
		for j := range k.Cols {
			k.Row(n - 1)[j] *= 3 // references that grow, and have to fall again
		}
		rows := func(m dense.Matrix[T], lo, hi int) dense.Matrix[T] { return m.RowRange(lo, hi) }
		for _, at := range []int{0, 1, 100, 250, 256} {
			never := must.Have(b.NewState(d, dv))
			never.Step(dense.Matrix[T]{}, rows(q, 0, at), rows(k, 0, at), rows(v, 0, at))
			s := never.Clone()
			mark := s.Snapshot(nil)
			other := must.Have(b.NewState(d, dv))
			other.Append(rows(k, 0, 7), rows(v, 0, 7))
			for name, ahead := range map[string]func(){
				"nothing":       func() {},
				"tokens":        func() { s.Step(dense.Matrix[T]{}, rows(q, n-20, n), rows(k, n-20, n), rows(v, n-20, n)) },
				"a chunk":       func() { s.Append(k, v) },
				"merged tokens": func() { require.NoError(t, s.Merge(other)) },
				"more marks": func() {
					s.Append(rows(k, 0, 3), rows(v, 0, 3))
					inner := s.Snapshot(nil)
					s.Append(rows(k, 0, 3), rows(v, 0, 3))
					s.Rollback(inner)
					require.Equal(t, at+3, s.Len())
				},
			} {
				ahead()
				s.Rollback(mark)
				require.Equal(t, at, s.Len())
				require.Equal(t, must.Have(never.Clone().MarshalBinary()), must.Have(s.Clone().MarshalBinary()), "%s: %s at %d", c.name, name, at)
			}
			same, astray := never.Clone(), s.Clone()
			astray.Append(rows(k, n-2, n-1), rows(v, n-2, n-1))
			want := never.Step(dense.Matrix[T]{}, rows(q, at, at+40), rows(k, at, at+40), rows(v, at, at+40))
			for range 2 {
				mark = s.Snapshot(mark)
				require.True(t, densetest.Identical(want, s.Step(dense.Matrix[T]{}, rows(q, at, at+40), rows(k, at, at+40), rows(v, at, at+40))), "%s at %d", c.name, at)
				s.Rollback(mark)
			}
			require.True(t, densetest.Identical(want, same.Step(dense.Matrix[T]{}, rows(q, at, at+40), rows(k, at, at+40), rows(v, at, at+40))))
			require.False(t, densetest.Identical(want, astray.Step(dense.Matrix[T]{}, rows(q, at, at+40), rows(k, at, at+40), rows(v, at, at+40))), "%s: a token that was not taken back", c.name)
		}
	}
}

// A Mark that is of another State is refused, and so is one of keys that have been replaced.
func TestStateRollbackRefuses(t *testing.T) {
	const foreign = "performer: the mark is not of this state, want one of its Snapshot"
	x := densetest.Filled[float64](6, 2, 1)
	s := must.Have(must.Have(performer.NewExact[float64](performer.ExactOptions{})).NewState(2, 2))
	s.Append(x, x)
	assert.PanicsWithValue(t, foreign, func() { s.Rollback(nil) })
	assert.PanicsWithValue(t, foreign, func() { s.Rollback(new(performer.Snapshot[float64])) })
	assert.PanicsWithValue(t, foreign, func() { s.Rollback(s.Clone().Snapshot(nil)) })

	short, long := s.Snapshot(nil), new(performer.Snapshot[float64])
	s.Append(x, x)
	s.Snapshot(long)
	const gone = "performer: the mark is of 12 tokens that the state has no longer"
	for name, replace := range map[string]func(){
		"fewer tokens": func() { s.Rollback(short) },
		"other tokens": func() { s.Rollback(short); s.Append(x, x) },
		"Reset":        func() { s.Reset(); s.Append(x, x); s.Append(x, x) },
		"UnmarshalBinary": func() {
			require.NoError(t, s.UnmarshalBinary(must.Have(s.MarshalBinary())))
		},
	} {
		s.Reset()
		s.Append(x, x)
		s.Snapshot(short)
		s.Append(x, x)
		s.Snapshot(long)
		s.Rollback(long)
		replace()
		before := s.Len()
		assert.PanicsWithValue(t, gone, func() { s.Rollback(long) }, name)
		assert.Equal(t, before, s.Len(), name)
	}
	linear := must.Have(attention(maptest.Positive[float64](8, 2), performer.LinearOptions{}).NewState(2, 2))
	linear.Append(x, x)
	mark, want := linear.Snapshot(nil), must.Have(linear.MarshalBinary())
	linear.Reset()
	linear.Rollback(mark)
	assert.Equal(t, want, must.Have(linear.MarshalBinary()), "copies outlive Reset")
	empty := must.Have(must.Have(performer.NewExact[float64](performer.ExactOptions{})).NewState(2, 2))
	none := empty.Snapshot(nil)
	empty.Append(x, x)
	empty.Rollback(none)
	assert.Zero(t, empty.Len())
}

// A decoder that drafts tokens and takes them back allocates nothing once memory is there.
func TestStateDecodesWithoutAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testStateDecodes[float32], testStateDecodes[float64])
}

func testStateDecodes[T dense.Float](t *testing.T) {
	const n, d, dv = 600, 8, 6
	rng := rand.New(densetest.Source(478))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, c := range stateCases[T](d) {
		b, _ := c.batch()
		s := must.Have(b.NewState(d, dv))
		q, k, v := rowsOf[T](rng, n, c.heads*d), rowsOf[T](rng, n, c.keyHeads*d), rowsOf[T](rng, n, c.keyHeads*dv)
		dst := dense.New[T](n, c.heads*dv)
		s.Append(k, v)
		mark := s.Snapshot(nil)
		calls := []int{1, 5, 40}
		if c.heads == 1 {
			calls = append(calls, n)
		}
		for _, rows := range calls {
			q, k, v, dst := q.RowRange(0, rows), k.RowRange(0, rows), v.RowRange(0, rows), dst.RowRange(0, rows)
			for _, processors := range []int{1, 2} {
				require.Zero(t, allocs.Settled(processors, func() {
					s.Snapshot(mark)
					s.Append(k, v)
					s.Attend(dst, q)
					s.Step(dst, q, k, v)
					s.Rollback(mark)
				}), "%s, %d tokens, %d processors", c.name, rows, processors)
			}
		}
	}
}
