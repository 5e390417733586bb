package performer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

// Everything may be a view of something wider, of which no other element is touched: the
// bits are those of matrices without gaps.
func TestRecurrenceViews(t *testing.T) {
	bothTypes(t, testRecurrenceViews[float32], testRecurrenceViews[float64])
}

func testRecurrenceViews[T dense.Float](t *testing.T) {
	rng := rand.New(source(320))
	eachRecurrence(func(rule Rule, wide bool) {
		shape := recurrenceShape{heads: 8, keyHeads: 2, d: 3, dv: 5, wide: wide}
		x := convertTokens[T](shape.tokens(rng, rule, 73))
		past, sums := gaussian[T](rng, 6, 5, 0, 1), dense.New[T](6, 5)
		r := must(NewRecurrence(8, 2, RecurrenceOptions[T]{Rule: rule}))
		want := r.Forward(dense.Matrix[T]{}, x, past, sums)

		wider := func(m dense.Matrix[T]) (view, all dense.Matrix[T]) {
			if m.Rows == 0 {
				return m, m
			}
			all = filled[T](m.Rows, m.Cols+3, 7)
			view = all.ColRange(1, m.Cols+1)
			dense.Copy(view, m)
			return view, all
		}
		var y Tokens[T]
		y.Q, _ = wider(x.Q)
		y.K, _ = wider(x.K)
		y.V, _ = wider(x.V)
		y.Decay, _ = wider(x.Decay)
		y.Beta, _ = wider(x.Beta)
		dst, around := wider(dense.New[T](want.Rows, want.Cols))
		handed, aroundSums := wider(past)
		r.Forward(dst, y, handed, handed)
		require.True(t, identical(want, dst.Clone()), "%v wide=%v", rule, wide)
		require.True(t, identical(sums, handed.Clone()), "%v wide=%v: sums", rule, wide)
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
	bothTypes(t, testRecurrencePastNaN[float32], testRecurrencePastNaN[float64])
}

func testRecurrencePastNaN[T dense.Float](t *testing.T) {
	rng := rand.New(source(321))
	const n, d, dv, column = 60, 4, 3, 2
	eachRecurrence(func(rule Rule, wide bool) {
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
			out := must(NewRecurrence(2, 2, RecurrenceOptions[T]{Rule: rule})).Forward(dense.Matrix[T]{}, x, past, sums)
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
