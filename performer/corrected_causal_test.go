package performer

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/maptest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/rff"
)

// causalByDefinition is causal attention by its definition, with the weights of a base that is not
// normalised.
func causalByDefinition[T dense.Float](c *Corrected[T], base Form[T], q, k, v dense.Matrix[T], valid []bool) (out dense.Matrix[float64], terms []float64) {
	far := wide(base.Forward(dense.Matrix[T]{}, q, k, identity[T](k.Rows)))
	exact := Exact[float64]{Scale: 0.5, Unnormalised: true}.Weights(dense.Matrix[float64]{}, wide(q), wide(k))
	out, terms = dense.New[float64](q.Rows, v.Cols), make([]float64, q.Rows)
	for i := range q.Rows {
		total := 0.0
		for j := range i + 1 {
			if valid != nil && !valid[j] {
				continue
			}
			w := exact.At(i, j)
			if !isNear(i, j, c.inside().opts.Window, c.inside().engine.M) {
				w = far.At(i, j)
			}
			total += w
			terms[i] += 4 * (math.Abs(w) + exact.At(i, j))
			for col, y := range v.Row(j) {
				out.Row(i)[col] += w * float64(y)
			}
		}
		if !c.inside().exact.Unnormalised && total != 0 {
			terms[i] /= math.Abs(total)
			for col := range out.Row(i) {
				out.Row(i)[col] /= total
			}
		}
	}
	return out, terms
}

// Causal attention with a window has the weights of the definition, with masks too, and the last
// queries alone have the same bits. No later token changes a bit.
func testCausalCorrected[T dense.Float](t *testing.T) {
	const d, dv, n = 4, 3, 150
	none := dense.Matrix[T]{}
	q, k, v := densetest.Decaying[T](1, n, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, dv, 1)
	valid := make([]bool, n)
	rng := rand.New(densetest.Source(4))
	for j := range valid {
		valid[j] = j == 0 || j == n-1 || rng.IntN(3) > 0
	}
	for _, base := range corrigibles[T]()[1:] {
		for _, plain := range []bool{false, true} {
			form, weights := base.of(LinearOptions{Causal: true, Unnormalised: plain}), base.of(LinearOptions{Unnormalised: true})
			for _, window := range []int{1, 7, 64, 70} {
				c := must.Have(NewCorrected(form, CorrectedOptions{Window: window}, nil))
				batch := must.Have(NewBatch[T](1, 1, c))
				got := c.Forward(none, q, k, v)
				spoilt := [3]dense.Matrix[T]{q, k.Clone(), v.Clone()}
				for j, counts := range valid {
					if !counts {
						layout.Fill(spoilt[1].Row(j), T(math.NaN()))
						layout.Fill(spoilt[2].Row(j), T(math.NaN()))
					}
				}
				masked := batch.ForwardSequences(none, q, spoilt[1], spoilt[2], Sequences{Valid: valid})
				for mask, out := range []dense.Matrix[T]{got, masked} {
					want, terms := causalByDefinition(c, weights, q, k, v, [][]bool{nil, valid}[mask])
					for i := range n {
						tolerance := 40 * float64(n+c.inside().engine.M+d) * densetest.Roundoff[T]() * terms[i]
						for col, x := range out.Row(i) {
							require.InDelta(t, want.At(i, col), float64(x), tolerance, "%s, window %d, row %d", base.name, window, i)
						}
					}
				}
				for _, first := range []int{1, 65, 100, n - 1} {
					last := batch.ForwardSequences(none, q.RowRange(first, n), k, v, Sequences{Queries: []int{n - first}, Keys: []int{n}, Past: []int{first}})
					require.True(t, densetest.Identical(got.RowRange(first, n), last), "%s, window %d, from %d", base.name, window, first)
				}
				spoilt = [3]dense.Matrix[T]{q.Clone(), k.Clone(), v.Clone()}
				for _, m := range spoilt {
					for i := 90; i < n; i++ {
						layout.Fill(m.Row(i), T(math.NaN()))
					}
				}
				require.True(t, densetest.Identical(got.RowRange(0, 90), c.Forward(none, spoilt[0], spoilt[1], spoilt[2]).RowRange(0, 90)))
				before := runtime.GOMAXPROCS(3)
				again := c.Forward(none, q, k, v)
				runtime.GOMAXPROCS(before)
				require.True(t, densetest.Identical(got, again))
			}
			exact := Exact[T]{Scale: 0.5, Causal: true, Unnormalised: plain}
			for _, window := range []int{n, math.MaxInt} {
				c := must.Have(NewCorrected(form, CorrectedOptions{Window: window}, nil))
				assert.True(t, densetest.Identical(exact.Forward(none, q, k, v), c.Forward(none, q, k, v)), "all keys are near")
			}
		}
	}
}

func TestCausalCorrected(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testCausalCorrected[float32], testCausalCorrected[float64])
}

// A State has the rows of causal attention whatever the base is, the same bits however the stream
// is cut, and comes back from bytes, marks and merges.
func testStateOfCorrected[T dense.Float](t *testing.T) {
	const d, dv, n, heads, keyHeads = 4, 3, 160, 4, 2
	none := dense.Matrix[T]{}
	q, k, v := densetest.Decaying[T](1, n, heads*d, 3), densetest.Decaying[T](2, n, keyHeads*d, 3), densetest.Decaying[T](3, n, keyHeads*dv, 1)
	for _, base := range corrigibles[T]()[1:] {
		for _, plain := range []bool{false, true} {
			for _, window := range []int{1, 30} {
				c := must.Have(NewCorrected(base.of(LinearOptions{Causal: true, Unnormalised: plain}), CorrectedOptions{Window: window}, nil))
				b := must.Have(NewBatch[T](heads, keyHeads, c))
				want := wide(b.Forward(none, q, k, v))
				s, chunks := must.Have(b.NewState(d, dv)), must.Have(b.NewState(d, dv))
				got := s.Step(none, q, k, v)
				// Sums of a signed base may cancel.
				require.Less(t, frobeniusError(got, want), 1e5*densetest.Roundoff[T](), "%s, window %d", base.name, window)
				rng := rand.New(densetest.Source(1))
				for at := 0; at < n; {
					next := min(at+1+rng.IntN(30), n)
					chunks.Append(k.RowRange(at, next), v.RowRange(at, next))
					last := chunks.Attend(none, q.RowRange(next-1, next))
					require.True(t, densetest.Identical(got.RowRange(next-1, next), last), "%s, window %d, token %d", base.name, window, next)
					at = next
				}
				bytes, err := chunks.MarshalBinary()
				require.NoError(t, err)
				read := must.Have(b.NewState(d, dv))
				require.NoError(t, read.UnmarshalBinary(bytes))
				mark := chunks.Snapshot(nil)
				before := chunks.Attend(none, q)
				require.True(t, densetest.Identical(before, chunks.Clone().Attend(none, q)))
				after := chunks.Step(none, q, k, v)
				require.True(t, densetest.Identical(after, read.Step(none, q, k, v)))
				more, err := chunks.MarshalBinary()
				require.NoError(t, err)
				require.Len(t, more, len(bytes), "memory is constant")
				chunks.Rollback(mark)
				require.True(t, densetest.Identical(before, chunks.Attend(none, q)))

				require.NoError(t, chunks.Merge(chunks))
				require.Greater(t, chunks.Len(), n)
				chunks.Reset()
				require.True(t, densetest.Identical(got, chunks.Step(none, q, k, v)))
			}
		}
	}
}

func TestStateOfCorrected(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testStateOfCorrected[float32], testStateOfCorrected[float64])
}

// Merged States are attention over the tokens of both: those of the second are near.
func testMergeCorrected[T dense.Float](t *testing.T) {
	const d, dv, n = 4, 3, 100
	none := dense.Matrix[T]{}
	q, k, v := densetest.Decaying[T](1, 5, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, dv, 1)
	for _, base := range corrigibles[T]()[3:] {
		c := must.Have(NewCorrected(base.of(LinearOptions{Causal: true}), CorrectedOptions{Window: 20}, nil))
		first, second := must.Have(c.NewState(d, dv)), must.Have(c.NewState(d, dv))
		const last = 15 // tokens of the second, all of which are near
		first.Append(k.RowRange(0, n-last), v.RowRange(0, n-last))
		second.Append(k.RowRange(n-last, n), v.RowRange(n-last, n))
		require.NoError(t, first.Merge(second))
		got := first.Attend(none, q)
		far := wide(base.of(LinearOptions{Unnormalised: true}).Forward(none, q, k, identity[T](n)))
		exact := Exact[float64]{Scale: 0.5, Unnormalised: true}.Weights(dense.Matrix[float64]{}, wide(q), wide(k))
		for i := range q.Rows {
			total, terms, want := 0.0, 0.0, make([]float64, dv)
			for j := range n {
				w := far.At(i, j)
				if j >= n-last {
					w = exact.At(i, j)
				}
				total, terms = total+w, terms+4*math.Abs(w)
				for col, y := range v.Row(j) {
					want[col] += w * float64(y)
				}
			}
			for col, x := range got.Row(i) {
				require.InDelta(t, want[col]/total, float64(x), 40*float64(n+c.inside().engine.M)*densetest.Roundoff[T]()*terms/math.Abs(total), base.name)
			}
		}
	}
}

func TestMergeCorrected(t *testing.T) {
	densetest.Both(t, testMergeCorrected[float32], testMergeCorrected[float64])
}

func TestStateCorrectedErrors(t *testing.T) {
	causal := attention(maptest.Positive[float64](8, 3), LinearOptions{Causal: true})
	window := CorrectedOptions{Window: 4}
	c := must.Have(NewCorrected[float64](causal, window, nil))
	_, err := c.NewState(2, 2)
	assert.EqualError(t, err, "performer: d = 2, but the maps take points of R^3")
	_, err = must.Have(NewCorrected[float64](attention(maptest.Positive[float64](8, 3), LinearOptions{}), CorrectedOptions{4, 9}, densetest.Source(1))).NewState(3, 2)
	assert.EqualError(t, err, "performer: Window = 4, Samples = 9, want a window and no samples for a state")
	_, err = must.Have(NewCorrected[float64](must.Have(NewLandmarks(Exact[float64]{}, 5, densetest.Source(1))), window, nil)).NewState(3, 2)
	assert.ErrorContains(t, err, "performer: the Landmarks are not causal")
	for text, other := range map[string]Streaming[float64]{
		"performer: 8 features with a window of 5, but the state belongs to 8 with 4":               must.Have(NewCorrected[float64](causal, CorrectedOptions{Window: 5}, nil)),
		"performer: Scale = 0.5, but the state belongs to attention with 1":                         must.Have(NewCorrected[float64](attention(must.Have(rff.SoftmaxPositive(maptest.Frequencies[float64](8, 3), 0.5)), LinearOptions{Causal: true}), window, nil)),
		"performer: other belongs to another form, the state to attention with near and far tokens": causal,
		"performer: Unnormalised = true, but the state belongs to attention with false":             must.Have(NewCorrected[float64](attention(maptest.Positive[float64](8, 3), LinearOptions{Causal: true, Unnormalised: true}), window, nil)),
	} {
		s := must.Have(c.NewState(3, 2))
		assert.EqualError(t, s.Merge(must.Have(other.NewState(3, 2))), text)
		bytes, err := must.Have(other.NewState(3, 2)).MarshalBinary()
		require.NoError(t, err)
		assert.Error(t, s.UnmarshalBinary(bytes), text)
	}
}

func testStateCorrectedAllocations[T dense.Float](t *testing.T) {
	const d, n = 4, 200
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	q, dst := densetest.Decaying[T](2, n, d, 2), dense.New[T](n, d)
	for _, base := range corrigibles[T]()[3:] {
		c := must.Have(NewCorrected(base.of(LinearOptions{Causal: true}), CorrectedOptions{Window: 16}, nil))
		s := must.Have(c.NewState(d, d))
		for _, processors := range []int{1, 2} {
			assert.Zero(t, allocs.Settled(processors, func() { s.Step(dst, q, q, q) }), "%s, %d processors", base.name, processors)
			assert.Zero(t, allocs.Settled(processors, func() { c.Forward(dst, q, q, q) }), "%s, %d processors", base.name, processors)
		}
	}
}

func TestStateCorrectedAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testStateCorrectedAllocations[float32], testStateCorrectedAllocations[float64])
}
