package recurrence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

var rules = []recurrence.Rule{recurrence.Linear, recurrence.Gated, recurrence.Delta, recurrence.GatedDelta}

// eachRecurrence calls f for all rules, with decays of both kinds where there are some.
func eachRecurrence(f func(rule recurrence.Rule, wide bool)) {
	for _, rule := range rules {
		f(rule, false)
		if hasDecays(rule) {
			f(rule, true)
		}
	}
}

// requireNear fails unless got is want to tolerance, relative to the largest element of want.
func requireNear[T dense.Float](t *testing.T, want dense.Matrix[float64], got dense.Matrix[T], tolerance float64, format string, args ...any) {
	t.Helper()
	size := 0.0
	for i := range want.Rows {
		for _, v := range want.Row(i) {
			size = max(size, math.Abs(v))
		}
	}
	densetest.RequireClose(t, want, densetest.Filled(want.Rows, want.Cols, tolerance*size), got, format, args...)
}

// recurrenceTolerance is far below any mistake and above the rounding of some hundred tokens.
func recurrenceTolerance[T dense.Float]() float64 {
	if simd.Size[T]() == 4 {
		return 1e-5
	}
	return 1e-12
}

// Every rule, kind of decay, grouping of heads and length, with and without a past, is the
// recurrence token by token.
func TestRecurrenceIsTheRecurrence(t *testing.T) {
	densetest.Both(t, testRecurrenceTokens[float32], testRecurrenceTokens[float64])
}

func testRecurrenceTokens[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(300))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		for _, shape := range []recurrenceShape{
			{heads: 1, keyHeads: 1, d: 5, dv: 3},
			{heads: 4, keyHeads: 2, d: 20, dv: 17},
			{heads: 2, keyHeads: 2, d: 3, dv: 6, shared: true},
			{heads: 3, keyHeads: 1, d: 1, dv: 1, shared: true},
			{heads: 2, keyHeads: 1, d: 131, dv: 35},
			{heads: 4, keyHeads: 2, d: 256, dv: 2}, // crowded rows
		} {
			shape.wide = wide
			for _, lengths := range [][]int{{0}, {1}, {7}, {64}, {73}, {5, 0, 130, 1}} {
				for _, normalise := range []bool{false, true} {
					x := shape.tokens(rng, rule, sum(lengths))
					x.Lengths = lengths
					single := convertTokens[T](x)
					x = convertTokens[float64](single) // what T can hold
					var past dense.Matrix[float64]
					if normalise {
						past = densetest.Normal[float64](rng, len(lengths)*shape.keyHeads*shape.d, shape.dv, 0, 1)
					}
					start := convertTokens[T](recurrence.Tokens[float64]{Q: past}).Q
					past = convertTokens[float64](recurrence.Tokens[T]{Q: start}).Q
					opts := recurrence.Options{Rule: rule, NormaliseKeys: normalise}
					if normalise {
						opts.Scale = 0.7
					}
					opts.Heads, opts.KeyHeads = shape.heads, shape.keyHeads
					r := must.Have(recurrence.New[T](opts))
					want, wantSums := naive{rule, shape.heads, shape.keyHeads, opts.Scale, normalise}.forward(x, past)
					sums := densetest.Filled[T](wantSums.Rows, wantSums.Cols, 7)
					got := r.Forward(dense.Matrix[T]{}, single, start, sums)
					requireNear(t, want, got, recurrenceTolerance[T](), "%v %+v %v", rule, shape, lengths)
					requireNear(t, wantSums, sums, recurrenceTolerance[T](), "%v %+v %v: sums", rule, shape, lengths)
				}
			}
		}
	})
}

// Decays of zero make a gated rule its plain one, decays of −50 leave the last token alone, decays
// may be slow, fast or positive by turns, and decays that differ wildly do no harm to what lies
// between them.
func TestRecurrenceDecays(t *testing.T) {
	densetest.Both(t, testRecurrenceDecays[float32], testRecurrenceDecays[float64])
}

func testRecurrenceDecays[T dense.Float](t *testing.T) {
	rng := rand.New(densetest.Source(302))
	const n = 600
	for _, rule := range []recurrence.Rule{recurrence.Gated, recurrence.GatedDelta} {
		for _, wide := range []bool{false, true} {
			shape := recurrenceShape{heads: 1, keyHeads: 1, d: 6, dv: 4, wide: wide}
			for name, g := range map[string]func(i int) float64{
				"none": func(int) float64 { return 0 },
				"-50":  func(int) float64 { return -50 },
				"slow": func(i int) float64 { return -0.02 * float64(i%3) },
				"fast and slow by turns": func(i int) float64 {
					return []float64{-1e-4, -0.5, -0.01, -0.01, 0}[i/100%5]
				},
				"positive": func(i int) float64 { return []float64{0.1, -0.2}[i/7%2] },
				"wild": func(i int) float64 {
					return []float64{-1e30, -300, -0.01, -0.1, 0, math.Inf(-1), -0.001, -1e-5, -40, -0.2, -1e6}[i%11]
				},
			} {
				x := shape.tokens(rng, rule, n)
				for i := range n {
					for c := range x.Decay.Row(i) {
						x.Decay.Row(i)[c] = g(i + c)
					}
				}
				single := convertTokens[T](x)
				x = convertTokens[float64](single)
				want, wantSums := naive{rule: rule, heads: 1, keyHeads: 1}.forward(x, dense.Matrix[float64]{})
				r := must.Have(recurrence.New[T](recurrence.Options{Heads: 1, Rule: rule}))
				sums := dense.New[T](6, 4)
				got := r.Forward(dense.Matrix[T]{}, single, dense.Matrix[T]{}, sums)
				requireNear(t, want, got, recurrenceTolerance[T](), "%v wide=%v %s", rule, wide, name)
				requireNear(t, wantSums, sums, recurrenceTolerance[T](), "%v wide=%v %s: sums", rule, wide, name)
				if name == "none" {
					plain := single
					plain.Decay = dense.Matrix[T]{}
					want := must.Have(recurrence.New[T](recurrence.Options{Heads: 1, Rule: rule - 1})).Forward(dense.Matrix[T]{}, plain, dense.Matrix[T]{}, dense.Matrix[T]{})
					requireNear(t, dense.Copy(dense.Matrix[float64]{}, want), got, recurrenceTolerance[T](), "%v is %v", rule, rule-1)
				}
			}
		}
	}
}

// Padding changes nothing, to the last bit of the sums. β = 1 stores a value under its key:
// with orthonormal keys all values come out again, and a second value for a key replaces
// the first.
func TestRecurrenceStores(t *testing.T) {
	const d, dv = 32, 5
	rng := rand.New(densetest.Source(303))
	basis := densetest.Orthonormal(rng, d)
	for _, rule := range []recurrence.Rule{recurrence.Delta, recurrence.GatedDelta} {
		r := must.Have(recurrence.New[float64](recurrence.Options{Heads: 1, Rule: rule, Scale: 1}))
		x := recurrence.Tokens[float64]{Q: dense.New[float64](2*d, d), K: dense.New[float64](2*d, d), V: densetest.Normal[float64](rng, 2*d, dv, 0, 1), Beta: densetest.Filled[float64](2*d, 1, 1)}
		if hasDecays(rule) {
			x.Decay = dense.New[float64](2*d, 1)
		}
		for i := range 2 * d {
			copy(x.K.Row(i), basis.Row(i%d))
			copy(x.Q.Row(i), basis.Row(i%d))
		}
		sums := dense.New[float64](d, dv)
		out := r.Forward(dense.Matrix[float64]{}, x, dense.Matrix[float64]{}, sums)
		requireNear(t, x.V, out, 1e-14, "%v: every value is read right after it is written", rule)
		values := dense.New[float64](d, dv)
		for i := range d {
			for c := range d {
				for e := range dv {
					values.Row(i)[e] += basis.At(i, c) * sums.At(c, e)
				}
			}
		}
		requireNear(t, x.V.RowRange(d, 2*d), values, 1e-14, "%v: the second values are what is left", rule)

		x.Beta = dense.New[float64](2*d, 1)
		before := sums.Clone()
		r.Forward(out, x, sums, sums)
		require.True(t, densetest.Identical(before, sums), "%v: padding", rule)
	}
}

// NaN and Inf reach what comes after them in their heads, and nothing else.
func TestRecurrenceNaN(t *testing.T) {
	densetest.Both(t, testRecurrenceNaN[float32], testRecurrenceNaN[float64])
}

func testRecurrenceNaN[T dense.Float](t *testing.T) {
	const n, at = 100, 70
	rng := rand.New(densetest.Source(305))
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		shape := recurrenceShape{heads: 4, keyHeads: 2, d: 5, dv: 4, wide: wide}
		clean := convertTokens[T](shape.tokens(rng, rule, n))
		r := must.Have(recurrence.New[T](recurrence.Options{Heads: 4, KeyHeads: 2, Rule: rule}))
		want := r.Forward(dense.Matrix[T]{}, clean, dense.Matrix[T]{}, dense.Matrix[T]{})
		for which := range 5 {
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				x := convertTokens[T](convertTokens[float64](clean))
				m := []dense.Matrix[T]{x.Q, x.K, x.V, x.Decay, x.Beta}[which]
				if m.Rows == 0 {
					continue
				}
				m.Set(at, 1, T(bad)) // of the first head, or decays and β of the second
				second := m.Cols == 2
				sums := dense.New[T](10, 4)
				got := r.Forward(dense.Matrix[T]{}, x, dense.Matrix[T]{}, sums)
				for i := range n {
					for h := range 4 {
						touched := i == at && which == 0 && h == 0 || i >= at && which > 0 && h/2 == 1 == second
						row := got.Row(i)[4*h : 4*h+4]
						what := fmt.Sprintf("%v wide=%v: %v in input %d, row %d, head %d", rule, wide, bad, which, i, h)
						finite := true
						for _, v := range row {
							finite = finite && v-v == 0
						}
						require.Equal(t, !touched, finite, what)
						if !touched {
							requireNear(t, dense.Copy(dense.Matrix[float64]{}, dense.Of(1, 4, want.Row(i)[4*h:4*h+4])), dense.Of(1, 4, row), 100*recurrenceTolerance[T](), "%s", what)
						}
					}
				}
				require.Equal(t, which > 0, !finiteRows(sums), "%v: %v in input %d reaches the sums", rule, bad, which)
			}
		}
	})
}
