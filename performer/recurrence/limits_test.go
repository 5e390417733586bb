package recurrence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// Everything may be a view of something wider, of which no other element is touched: the
// bits are those of matrices without gaps.
func TestRecurrenceViews(t *testing.T) {
	densetest.Both(t, testRecurrenceViews[float32], testRecurrenceViews[float64])
}

func testRecurrenceViews[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(320))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 8, keyHeads: 2, d: 3, dv: 5, wide: wide}
		x := convertTokens[T](shape.tokens(rng, rule, 73))
		past, sums := densetest.Normal[T](rng, 6, 5, 0, 1), dense.New[T](6, 5)
		r := must.Have(recurrence.New[T](recurrence.Options{Heads: 8, KeyHeads: 2, Rule: rule}))
		want := r.Forward(dense.Matrix[T]{}, x, past, sums)

		wider := func(m dense.Matrix[T]) (view, all dense.Matrix[T]) {
			if m.Rows == 0 {
				return m, m
			}
			all = densetest.Filled[T](m.Rows, m.Cols+3, 7)
			view = all.ColRange(1, m.Cols+1)
			dense.Copy(view, m)
			return view, all
		}
		var y recurrence.Tokens[T]
		y.Q, _ = wider(x.Q)
		y.K, _ = wider(x.K)
		y.V, _ = wider(x.V)
		y.Decay, _ = wider(x.Decay)
		y.Beta, _ = wider(x.Beta)
		dst, around := wider(dense.New[T](want.Rows, want.Cols))
		handed, aroundSums := wider(past)
		r.Forward(dst, y, handed, handed)
		require.True(t, densetest.Identical(want, dst.Clone()), "%v wide=%v", rule, wide)
		require.True(t, densetest.Identical(sums, handed.Clone()), "%v wide=%v: sums", rule, wide)
		for _, m := range []dense.Matrix[T]{around, aroundSums} {
			for i := range m.Rows {
				require.Equal(t, []T{7, 7, 7}, append(m.Row(i)[:1:1], m.Row(i)[m.Cols-2:]...), "%v wide=%v: row %d", rule, wide, i)
			}
		}
	})
}

// What is not finite in the past is in all outputs of its column of its head and in the sums after
// them, even where all decays are −∞: nothing times zero hides it. A delta rule spreads it over
// no other column, and other heads know nothing of it.
func TestRecurrencePastNaN(t *testing.T) {
	densetest.Both(t, testRecurrencePastNaN[float32], testRecurrencePastNaN[float64])
}

func testRecurrencePastNaN[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(321))
	const n, d, dv, column = 60, 4, 3, 2
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 2, keyHeads: 2, d: d, dv: dv, wide: wide}
		for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
			x := convertTokens[T](shape.tokens(rng, rule, n))
			for i := range x.Decay.Rows {
				for c := range x.Decay.Row(i) {
					x.Decay.Row(i)[c] = T(math.Inf(-1))
				}
			}
			past, sums := dense.New[T](2*d, dv), dense.New[T](2*d, dv)
			past.Set(d+1, column, T(bad))
			out := must.Have(recurrence.New[T](recurrence.Options{Heads: 2, Rule: rule})).Forward(dense.Matrix[T]{}, x, past, sums)
			for i := range n {
				for c, v := range out.Row(i) {
					require.Equal(t, c == dv+column, v-v != 0, "%v wide=%v: past %v, output %d, %d", rule, wide, bad, i, c)
				}
			}
			for f := range sums.Rows {
				for c, v := range sums.Row(f) {
					if f < d || c != column {
						require.Zero(t, v-v, "%v wide=%v: past %v, sum %d, %d", rule, wide, bad, f, c)
					}
				}
			}
			v := sums.At(d+1, column)
			require.NotZero(t, v-v, "%v wide=%v: past %v stays", rule, wide, bad)
		}
	})
}

// The bits do not depend on the number of processors, also where the columns of one head are shared
// among them: not where something is not finite in some columns, nor where the destination is an
// input. Nothing is allocated.
func TestRecurrenceProcessors(t *testing.T) {
	densetest.Both(t, testRecurrenceProcessors[float32], testRecurrenceProcessors[float64])
}

func testRecurrenceProcessors[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(322))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		for _, c := range []struct {
			heads, n, d int
			lengths     []int
		}{
			{1, 160, 100, nil}, // n·d·d is above splitAbove
			{3, 210, 8, []int{140, 70}},
		} {
			shape := recurrenceShape{heads: c.heads, keyHeads: c.heads, d: c.d, dv: c.d, wide: wide}
			clean := convertTokens[T](shape.tokens(rng, rule, c.n))
			clean.Lengths = c.lengths
			past := densetest.Normal[T](rng, max(1, len(c.lengths))*c.heads*c.d, c.d, 0, 1)
			r := must.Have(recurrence.New[T](recurrence.Options{Heads: c.heads, Rule: rule, NormaliseKeys: c.heads > 1}))
			for _, bad := range [][]int{nil, {40, 15}, {90, 0, 130, 23}} {
				x := clean
				x.V = clean.V.Clone()
				for i := 0; i < len(bad); i += 2 {
					x.V.Set(bad[i], bad[i+1], T(math.Inf(1)))
				}
				what := fmt.Sprintf("%v wide=%v, %d heads, %v not finite", rule, wide, c.heads, bad)
				var first, sums dense.Matrix[T]
				for _, processors := range []int{1, 2, 3, 9} {
					present := past.Clone()
					before := runtime.GOMAXPROCS(processors)
					got := r.Forward(dense.Matrix[T]{}, x, present, present)
					if processors == 1 {
						first, sums = got, present
					}
					for which := range 3 {
						y := x
						dst := []*dense.Matrix[T]{&y.Q, &y.K, &y.V}[which]
						*dst = dst.Clone()
						require.True(t, densetest.Identical(first, r.Forward(*dst, y, past, dense.Matrix[T]{})), "%s: into input %d, %d processors", what, which, processors)
					}
					runtime.GOMAXPROCS(before)
					require.True(t, densetest.Identical(first, got), "%s: %d processors", what, processors)
					require.True(t, densetest.Identical(sums, present), "%s: sums, %d processors", what, processors)
				}
				for i := range c.n {
					for col, v := range first.Row(i) {
						reached := false
						for j := 0; j < len(bad); j += 2 {
							reached = reached || col == bad[j+1] && i >= bad[j] && (c.lengths == nil || i < c.lengths[0])
						}
						require.Equal(t, reached, v-v != 0, "%s: output %d, %d", what, i, col)
					}
				}
			}
			if !race.Detector {
				dst := dense.New[T](c.n, c.heads*c.d)
				require.Zero(t, allocs.Settled(2, func() { r.Forward(dst, clean, past, past) }), "%v wide=%v", rule, wide)
			}
		}
	})
}
