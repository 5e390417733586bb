package performer_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// A stream, token by token and in chunks cut anywhere, gives the rows of causal
// attention: within the bound of the naive sum for every map and form.
func TestStateEqualsCausal(t *testing.T) {
	densetest.Both(t, testStateEqualsCausal[float32], testStateEqualsCausal[float64])
}

func testStateEqualsCausal[T dense.Float](t *testing.T) {
	const n, d, dv = 150, 5, 3
	rng := rand.New(densetest.Source(200))
	for _, m := range maps[T](d) {
		q, k, v := rowsOf[T](rng, n, d), rowsOf[T](rng, n, d), rowsOf[T](rng, n, dv)
		for _, opts := range forms[2:] {
			a := attention(m.Map, opts)
			want, tol := newPairs(a, q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
			densetest.RequireClose(t, want, tol, a.Forward(dense.Matrix[T]{}, q, k, v), "%s %+v: causal", m.name, opts)

			s := must.Have(a.NewState(d, dv))
			densetest.RequireClose(t, want, tol, s.Step(dense.Matrix[T]{}, q, k, v), "%s %+v: step", m.name, opts)
			require.Equal(t, n, s.Len())

			s.Reset()
			got := dense.New[T](n, dv)
			for lo := 0; lo < n; {
				hi := min(lo+rng.IntN(40), n) // 0 tokens among them
				s.Append(k.RowRange(lo, hi), v.RowRange(lo, hi))
				require.Equal(t, hi, s.Len())
				if hi > 0 {
					s.Attend(got.RowRange(hi-1, hi), q.RowRange(hi-1, hi))
					densetest.RequireClose(t, rowOf(want, hi-1), rowOf(tol, hi-1), rowOf(got, hi-1), "%s %+v: chunk up to %d", m.name, opts, hi)
				}
				lo = hi
			}
		}
	}
}

// rowOf returns row i as a matrix.
func rowOf[T dense.Float](m dense.Matrix[T], i int) dense.Matrix[T] { return m.RowRange(i, i+1) }

// Append and Attend of one token have the bits of Step, queries of a few rows those of
// one each, and Step of many tokens those of a token each.
func TestStateCalls(t *testing.T) {
	densetest.Both(t, testStateCalls[float32], testStateCalls[float64])
}

func testStateCalls[T dense.Float](t *testing.T) {
	const n, heads, d, dv = 40, 3, 4, 2
	rng := rand.New(densetest.Source(201))
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*dv, 0, 1)
	for _, opts := range forms {
		for _, m := range []rff.Map[T]{maptest.Positive[T](16, d), must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, maptest.Frequencies[T](16, d)))} {
			h := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads}, attention(m, opts)))
			whole, parts := must.Have(h.NewState(d, dv)), must.Have(h.NewState(d, dv))
			want := whole.Step(dense.Matrix[T]{}, q, k, v)
			for i := range n {
				parts.Append(rowOf(k, i), rowOf(v, i))
				require.True(t, densetest.Identical(rowOf(want, i), parts.Attend(dense.Matrix[T]{}, rowOf(q, i))), "%+v token %d", opts, i)
			}
			few := parts.Attend(dense.Matrix[T]{}, q.RowRange(0, 3))
			for i := range 3 {
				require.True(t, densetest.Identical(rowOf(few, i), parts.Attend(dense.Matrix[T]{}, rowOf(q, i))))
			}

			// Each head is the state of its columns.
			for j := range heads {
				one := must.Have(attention(m, opts).NewState(d, dv))
				got := one.Step(dense.Matrix[T]{}, q.ColRange(j*d, (j+1)*d), k.ColRange(j*d, (j+1)*d), v.ColRange(j*dv, (j+1)*dv))
				tol := densetest.Filled(n, dv, 1e4*densetest.Roundoff[T]())
				densetest.RequireClose(t, dense.Copy(dense.Matrix[float64]{}, want.ColRange(j*dv, (j+1)*dv)), tol, got, "%+v head %d", opts, j)
			}
		}
	}
}

// Many keys and queries go through other code: segments, blocks, packed sums, several
// processors, on which no bit depends.
func TestStateChunks(t *testing.T) {
	densetest.Both(t, testStateChunks[float32], testStateChunks[float64])
}

func testStateChunks[T dense.Float](t *testing.T) {
	const n, heads, d, dv = 1300, 2, 4, 3
	rng := rand.New(densetest.Source(202))
	q, k, v := rowsOf[T](rng, 300, heads*d), rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, heads*dv)
	head := func(x dense.Matrix[T], j int) dense.Matrix[T] {
		width := x.Cols / heads
		return x.ColRange(j*width, (j+1)*width)
	}
	for _, m := range []rff.Map[T]{maptest.Positive[T](32, d), must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), must.Have(rff.Draw(rff.Gaussian{LengthScale: 4}, maptest.Frequencies[T](16, d)))} {
		var truth [heads]*pairs
		for j := range truth {
			truth[j] = newPairs(attention(m, performer.LinearOptions{}), head(q, j), head(k, j))
		}
		for _, opts := range forms[:2] {
			h := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads}, attention(m, opts)))
			var first dense.Matrix[T]
			for _, processors := range []int{1, 3} {
				before := runtime.GOMAXPROCS(processors)
				s := must.Have(h.NewState(d, dv))
				s.Append(k.RowRange(0, 1), v.RowRange(0, 1))
				s.Append(k.RowRange(1, n), v.RowRange(1, n))
				got := s.Attend(dense.Matrix[T]{}, q)
				runtime.GOMAXPROCS(before)
				if first.Data == nil {
					first = got
				}
				require.True(t, densetest.Identical(first, got), "%+v: %d processors", opts, processors)
			}
			for j := range heads {
				want, tol := truth[j].of(opts).attend(dense.Copy(dense.Matrix[float64]{}, head(v, j)))
				densetest.RequireClose(t, want, tol, head(first, j), "%+v head %d", opts, j)
			}
		}
	}
}

// Outputs go into views and the inputs themselves, and an empty state gives zeros.
func TestStateDestinations(t *testing.T) {
	const n, d = 30, 4
	rng := rand.New(densetest.Source(203))
	a := attention(maptest.Positive[float64](16, d), performer.LinearOptions{})
	q, k, v := rowsOf[float64](rng, n, d), rowsOf[float64](rng, n, d), rowsOf[float64](rng, n, d)
	want := must.Have(a.NewState(d, d)).Step(dense.Matrix[float64]{}, q, k, v)
	for i := range 3 {
		in := [3]dense.Matrix[float64]{q.Clone(), k.Clone(), v.Clone()}
		must.Have(a.NewState(d, d)).Step(in[i], in[0], in[1], in[2])
		require.True(t, densetest.Identical(want, in[i]), "into input %d", i)
	}
	wide := densetest.Filled[float64](n, d+2, 7)
	s := must.Have(a.NewState(d, d))
	s.Step(wide.ColRange(1, d+1), q, k, v)
	require.True(t, densetest.Identical(want, wide.ColRange(1, d+1)))
	assert.Equal(t, densetest.Filled[float64](n, 1, 7), wide.ColRange(0, 1).Clone())
	assert.Equal(t, densetest.Filled[float64](n, 1, 7), wide.ColRange(d+1, d+2).Clone())

	for _, rows := range []int{2, n} {
		answers := s.Attend(dense.Matrix[float64]{}, q.RowRange(0, rows))
		in := q.RowRange(0, rows).Clone()
		require.True(t, densetest.Identical(answers, s.Attend(in, in)), "Attend of %d rows into q", rows)
	}
	for _, opts := range forms {
		empty := must.Have(attention(maptest.Positive[float64](16, d), opts).NewState(d, 2))
		for _, rows := range []int{0, 1, n} {
			got := empty.Attend(densetest.Filled[float64](rows, 2, 7), q.RowRange(0, rows))
			assert.Equal(t, dense.New[float64](rows, 2).Data, got.Data, "no tokens")
		}
	}
}

// Values that are all one come out as exactly one, as elsewhere.
func TestStateOnes(t *testing.T) {
	const n, d = 200, 6
	rng := rand.New(densetest.Source(204))
	q, k := densetest.Normal[float32](rng, n, d, 0, 2), densetest.Normal[float32](rng, n, d, 0, 2)
	s := must.Have(attention(maptest.Positive[float32](24, d), performer.LinearOptions{}).NewState(d, 2))
	ones := densetest.Filled[float32](n, 2, 1)
	assert.Equal(t, ones, s.Step(dense.Matrix[float32]{}, q, k, ones))
	s.Append(k, ones)
	assert.Equal(t, ones, s.Attend(dense.Matrix[float32]{}, q))
}

// Single tokens, in float32, add up as well as chunks do: one after another, the same
// ones again and again, they would be off by 10⁻⁴ of their size.
func TestStateLongSums(t *testing.T) {
	const n, d, rounds = 1000, 8, 100
	rng := rand.New(densetest.Source(211))
	q, k, v := densetest.Normal[float64](rng, n, d, 0, 0.5), densetest.Normal[float64](rng, n, d, 0, 0.5), densetest.Normal[float64](rng, n, 2, 1, 1)
	single := func(x dense.Matrix[float64]) dense.Matrix[float32] { return dense.Copy(dense.Matrix[float32]{}, x) }
	exact := must.Have(attention(maptest.Positive[float64](32, d), performer.LinearOptions{}).NewState(d, 2))
	s := must.Have(attention(maptest.Positive[float32](32, d), performer.LinearOptions{}).NewState(d, 2))
	exact.Append(k, v)
	q32, k32, v32, dst := single(q), single(k), single(v), dense.New[float32](n, 2)
	for range rounds {
		s.Step(dst, q32, k32, v32)
	}
	want := exact.Attend(dense.Matrix[float64]{}, q) // the average is that of one round
	densetest.RequireClose(t, want, densetest.Filled(n, 2, 1e-5), s.Attend(dst, q32), "after %d tokens", s.Len())
}

// NaN and Inf reach what depends on them, and not what came before.
func TestStateNaN(t *testing.T) {
	densetest.Both(t, testStateNaN[float32], testStateNaN[float64])
}

func testStateNaN[T dense.Float](t *testing.T) {
	const n, d, at = 12, 4, 5
	rng := rand.New(densetest.Source(205))
	for _, opts := range forms {
		for _, m := range []rff.Map[T]{maptest.Positive[T](16, d), must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, maptest.Frequencies[T](16, d)))} {
			for which := range 3 {
				in := [3]dense.Matrix[T]{rowsOf[T](rng, n, d), rowsOf[T](rng, n, d), rowsOf[T](rng, n, d)}
				in[which].Set(at, 1, T(math.NaN()))
				got := must.Have(attention(m, opts).NewState(d, d)).Step(dense.Matrix[T]{}, in[0], in[1], in[2])
				for i := range n {
					assert.Equal(t, i == at || i > at && which > 0, hasNaN(got.Row(i)), "%+v: NaN in input %d, row %d", opts, which, i)
				}
			}
		}
	}
}

// Norms that keep growing, so that no fixed reference would do: outputs stay within
// the bound, and after many tokens finite.
func TestStateGrowingNorms(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testStateGrowing[float32], testStateGrowing[float64])
}

func testStateGrowing[T dense.Float](t *testing.T) {
	const n, d, dv = 200, 4, 2
	rng := rand.New(densetest.Source(206))
	k, q, v := densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, d, 0, 1), densetest.Normal[T](rng, n, dv, 0, 1)
	for i := range n {
		for j := range d {
			k.Row(i)[j] *= T(float64(i) / 8)
		}
	}
	a := attention(maptest.Positive[T](16, d), performer.LinearOptions{Causal: true})
	want, tol := newPairs(a, q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
	densetest.RequireClose(t, want, tol, must.Have(a.NewState(d, dv)).Step(dense.Matrix[T]{}, q, k, v), "growing")

	// exp(ℓ) itself is far beyond any range at the end: ℓ grows to 10⁶. By 1 a token several
	// tokens count; by 96, which is more than the range of float32, one does.
	const tokens, fast, slow = 40_000, 20_000, 30_400
	line := logRowMap[T]{rowMap[T]{in: 1, out: 2, row: func(phi, x []T) { phi[0], phi[1] = x[0], x[0]/2 }}}
	s := must.Have(attention[T](line, performer.LinearOptions{}).NewState(1, 1))
	query, key, one := dense.New[T](1, 1), dense.New[T](1, 1), densetest.Filled[T](1, 1, 1)
	ones := 0
	for i := range tokens {
		if out := s.Step(dense.Matrix[T]{}, query, key, one); out.Data[0] == 1 {
			ones++
		}
		if i < fast || i >= slow {
			key.Data[0]++
		} else {
			key.Data[0] += 96
		}
	}
	require.Greater(t, float64(key.Data[0]), 1e6)
	assert.Equal(t, tokens, ones)
	file, sums := must.Have(safetensors.View(must.Have(s.MarshalBinary()))), dense.New[T](2, 2)
	_, err := binary.Decode(file.Tensors["state.runs.0."+map[int]string{4: "singles", 8: "doubles"}[simd.Size[T]()]].Data, binary.LittleEndian, sums.Data)
	require.NoError(t, err)
	require.True(t, layout.Finite(sums))
}

// Parts merge in any order and grouping to the same state, to rounding; other is left
// as it was, and a clone goes its own way.
//
//ci:portable
func TestStateMerge(t *testing.T) {
	densetest.Both(t, testStateMerge[float32], testStateMerge[float64])
}

func testStateMerge[T dense.Float](t *testing.T) {
	const n, heads, d, dv = 90, 2, 4, 3
	rng := rand.New(densetest.Source(207))
	q, k, v := rowsOf[T](rng, 5, heads*d), rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, heads*dv)
	for i := range n { // references that differ
		for j := range heads * d {
			k.Row(i)[j] *= T(1 + i/30)
		}
	}
	for _, opts := range forms[:2] {
		for _, m := range []rff.Map[T]{maptest.Positive[T](16, d), must.Have(rff.Draw(rff.Gaussian{LengthScale: 4}, maptest.Frequencies[T](16, d)))} {
			a := attention(m, opts)
			h := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads}, a))
			var parts [4]*performer.State[T] // the last is empty
			for p := range parts {
				parts[p] = must.Have(h.NewState(d, dv))
				if p < 3 {
					parts[p].Append(k.RowRange(30*p, 30*p+25), v.RowRange(30*p, 30*p+25))
					for i := 30*p + 25; i < 30*p+30; i++ {
						parts[p].Append(rowOf(k, i), rowOf(v, i))
					}
				}
			}
			merge := func(order ...int) *performer.State[T] {
				s := parts[order[0]].Clone()
				for _, p := range order[1:] {
					before := must.Have(parts[p].Clone().MarshalBinary())
					require.NoError(t, s.Merge(parts[p]))
					require.Equal(t, before, must.Have(parts[p].Clone().MarshalBinary()), "other is unchanged")
				}
				return s
			}
			right := merge(1, 2)
			left := parts[0].Clone()
			require.NoError(t, left.Merge(right))
			for _, s := range []*performer.State[T]{merge(0, 1, 2), merge(2, 0, 3, 1), merge(3, 1, 2, 0), left} {
				require.Equal(t, n, s.Len())
				got := s.Attend(dense.Matrix[T]{}, q)
				for j := range heads {
					c := func(x dense.Matrix[T], d int) dense.Matrix[T] { return x.ColRange(j*d, (j+1)*d) }
					want, tol := newPairs(a, c(q, d), c(k, d)).attend(dense.Copy(dense.Matrix[float64]{}, c(v, dv)))
					densetest.RequireClose(t, want, tol, c(got, dv), "%+v head %d", opts, j)
				}
			}
			require.Equal(t, 30, parts[0].Len(), "a clone is another state")

			for range 2 { // with tokens that came in chunks, then with single ones too
				clone := parts[0].Clone()
				want := parts[0].Step(dense.Matrix[T]{}, q, k.RowRange(0, 5), v.RowRange(0, 5))
				require.True(t, densetest.Identical(want, clone.Step(dense.Matrix[T]{}, q, k.RowRange(0, 5), v.RowRange(0, 5))))
			}
		}
	}
}

// Step, Append and Attend allocate nothing.
func TestStateNoAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testStateAllocations[float32], testStateAllocations[float64])
}

func testStateAllocations[T dense.Float](t *testing.T) {
	const d, dv, n = 8, 6, 600
	rng := rand.New(densetest.Source(208))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, opts := range forms[:2] {
		for _, heads := range []int{1, 3} {
			s := must.Have(must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads}, attention(maptest.Positive[T](32, d), opts))).NewState(d, dv))
			q, k, v := rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, heads*dv)
			dst := dense.New[T](n, heads*dv)
			for _, rows := range []int{1, 2, 40, n} {
				q, k, v, dst := q.RowRange(0, rows), k.RowRange(0, rows), v.RowRange(0, rows), dst.RowRange(0, rows)
				for _, processors := range []int{1, 2} {
					require.Zero(t, allocs.Settled(processors, func() { s.Append(k, v) }), "append %d", rows)
					require.Zero(t, allocs.Settled(processors, func() { s.Attend(dst, q) }), "attend %d", rows)
					require.Zero(t, allocs.Settled(processors, func() { s.Step(dst, q, k, v) }), "step %d", rows)
				}
			}
		}
	}
}

func TestStateErrors(t *testing.T) {
	a := attention(maptest.Positive[float32](8, 4), performer.LinearOptions{})
	_, err := a.NewState(4, 0)
	assert.EqualError(t, err, "performer: d = 4, dv = 0, want at least 1")
	_, err = a.NewState(3, 2)
	assert.EqualError(t, err, "performer: d = 3, but the attention takes points of R^4")
	_, err = must.Have(performer.NewExact[float32](performer.ExactOptions{})).NewState(0, 2)
	assert.EqualError(t, err, "performer: d = 0, dv = 2, want at least 1")
	for _, forms := range [][]performer.Attention[float32]{{forwardOnly{}}, {forwardOnly{}, forwardOnly{}}} {
		_, err = must.Have(performer.NewBatch(performer.BatchOptions{Heads: 2}, forms...)).NewState(4, 3)
		assert.EqualError(t, err, "performer: performer_test.forwardOnly has no state, want Linear or Exact attention")
	}

	s := must.Have(must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, a)).NewState(4, 3))
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	for want, f := range map[string]func(){
		"performer: k is 5×4, v is 5×6, want n×8 and n×6 for 2 heads of the state": func() { s.Append(mat(5, 4), mat(5, 6)) },
		"performer: k is 5×8, v is 4×6, want n×8 and n×6 for 2 heads of the state": func() { s.Append(mat(5, 8), mat(4, 6)) },
		"performer: k is 5×8, v is 5×3, want n×8 and n×6 for 2 heads of the state": func() { s.Step(none, mat(5, 8), mat(5, 8), mat(5, 3)) },
		"performer: q is 5×4, want n×8 for 2 heads of the state":                   func() { s.Attend(none, mat(5, 4)) },
		"performer: q is 4×8, k is 5×8, want as many queries as keys for a step":   func() { s.Step(none, mat(4, 8), mat(5, 8), mat(5, 6)) },
		"dense: destination is 5×5, want 5×6":                                      func() { s.Attend(mat(5, 5), mat(5, 8)) },
	} {
		assert.PanicsWithValue(t, want, f, fmt.Sprint(want))
	}
	assert.Zero(t, s.Len(), "what panics takes in nothing")

	assert.EqualError(t, s.Merge(nil), "performer: other is nil")
	assert.EqualError(t, s.Merge(must.Have(a.NewState(4, 3))), "performer: other has 1 heads over 1 with d = 4 and dv = 3, the state 2 heads over 2 with d = 4 and dv = 3")
	var zero performer.State[float32]
	const made = "performer: the state belongs to no attention, want one of NewState"
	assert.EqualError(t, s.Merge(&zero), made)
	assert.EqualError(t, zero.Merge(s), made)
	assert.EqualError(t, zero.UnmarshalBinary(nil), made)
	_, err = zero.MarshalBinary()
	assert.EqualError(t, err, made)
	for _, f := range []func(){
		func() { zero.Append(none, none) }, func() { zero.Attend(none, none) }, func() { zero.Step(none, none, none, none) },
		func() { zero.Snapshot(nil) }, func() { zero.Rollback(nil) },
	} {
		assert.PanicsWithValue(t, made, f)
	}
}

// A state refuses what belongs to features that were redrawn, and takes the same
// features made again.
func TestStateRefusesOtherFeatures(t *testing.T) {
	densetest.Both(t, testRefusal[float32], testRefusal[float64])
}

func testRefusal[T dense.Float](t *testing.T) {
	const d, dv = 4, 3
	rng := rand.New(densetest.Source(209))
	drawn := func(seed uint64) rff.Map[T] {
		return must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, must.Have(orf.Draw[T](orf.GramSchmidt{}, 32, d, densetest.Source(seed)))))
	}
	a := must.Have(performer.NewLinear(drawn(1), performer.LinearOptions{Causal: true}))
	s := must.Have(a.NewState(d, dv))
	s.Append(rowsOf[T](rng, 9, d), rowsOf[T](rng, 9, dv))
	data := must.Have(s.MarshalBinary())

	again := must.Have(performer.NewLinear(drawn(1), performer.LinearOptions{}))
	refuses := func(a performer.Linear[T]) error { return s.Merge(must.Have(a.NewState(d, dv))) }
	assert.NoError(t, refuses(again), "the same features, made again")
	assert.NoError(t, must.Have(again.NewState(d, dv)).Merge(s))
	assert.NoError(t, must.Have(again.NewState(d, dv)).UnmarshalBinary(data))

	const differ = "performer: the features differ from those that the state belongs to"
	redrawn := must.Have(performer.NewLinear(drawn(2), performer.LinearOptions{Causal: true}))
	other := must.Have(redrawn.NewState(d, dv))
	assert.EqualError(t, refuses(redrawn), differ)
	assert.EqualError(t, other.Merge(s), differ)
	assert.EqualError(t, other.UnmarshalBinary(data), differ)
	assert.Zero(t, other.Len())

	for name, f := range map[string][2]rff.Map[T]{
		"other queries": {drawn(2), drawn(1)},
		"other keys":    {drawn(1), drawn(2)},
		"other scale": {
			must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1.01}, must.Have(orf.Draw[T](orf.GramSchmidt{}, 32, d, densetest.Source(1))))),
			must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1.01}, must.Have(orf.Draw[T](orf.GramSchmidt{}, 32, d, densetest.Source(1))))),
		},
	} {
		assert.EqualError(t, refuses(must.Have(performer.NewLinearOf(f[0], f[1], performer.LinearOptions{}))), differ, name)
	}
	assert.EqualError(t, refuses(attention(maptest.Positive[T](16, d), performer.LinearOptions{})), `performer: other with "m = 16", want "m = 32"`)
	assert.EqualError(t, refuses(must.Have(performer.NewLinear(drawn(1), performer.LinearOptions{Unnormalised: true}))), `performer: other with "Unnormalised = true", want "Unnormalised = false"`)
	trig := must.Have(rff.Draw(rff.Angular{}, maptest.Frequencies[T](32, d)))
	assert.EqualError(t, refuses(attention[T](trig, performer.LinearOptions{})), `performer: other with "logarithms = false", want "logarithms = true"`)
}

// Every map is told from itself with other random numbers, and recognises itself when
// each feature is off by rounding.
func TestMarks(t *testing.T) {
	densetest.Both(t, testMarks[float32], testMarks[float64])
}

func testMarks[T dense.Float](t *testing.T) {
	const d = 5
	rng := rand.New(densetest.Source(210))
	for _, m := range maps[T](d) {
		a := attention(m.Map, performer.LinearOptions{})
		marks := append([]float64(nil), performer.InsideOf(a).Engine.Marks()...)
		require.NoError(t, performer.InsideOf(a).Engine.CheckMarks(marks), m.name)
		for f := range marks {
			marks[f] *= 1 + 8*densetest.Roundoff[T]()*rng.NormFloat64()
		}
		require.NoError(t, performer.InsideOf(a).Engine.CheckMarks(marks), m.name)
		for f := range performer.InsideOf(a).M/16 + 1 {
			marks[f] += 0.01
		}
		require.Error(t, performer.InsideOf(a).Engine.CheckMarks(marks), m.name)
		marks = append([]float64(nil), performer.InsideOf(a).Engine.Marks()...)
		marks[0], marks[performer.InsideOf(a).M-1] = math.NaN(), math.NaN()
		if performer.InsideOf(a).M < 32 {
			require.Error(t, performer.InsideOf(a).Engine.CheckMarks(marks), "%s: NaN", m.name)
		}
	}
	for _, w := range []orf.Projection[T]{maptest.Frequencies[T](32, d), must.Have(orf.Draw[T](orf.IID{}, 32, d, densetest.Source(2)))} {
		for name, pair := range map[string][2]rff.Map[T]{
			"angular":  {must.Have(rff.Draw(rff.Angular{}, w)), must.Have(rff.Draw(rff.Angular{}, must.Have(orf.Draw[T](orf.IID{}, 32, d, densetest.Source(9)))))},
			"gaussian": {must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, w)), must.Have(rff.Draw(rff.Gaussian{LengthScale: 1}, must.Have(orf.Draw[T](orf.IID{}, 32, d, densetest.Source(9)))))},
			"relu":     {must.Have(rff.Draw(rff.ArcCosine{}, w)), must.Have(rff.Draw(rff.ArcCosine{}, must.Have(orf.Draw[T](orf.IID{}, 32, d, densetest.Source(9)))))},
		} {
			s := must.Have(attention(pair[0], performer.LinearOptions{}).NewState(d, 1))
			assert.Error(t, s.Merge(must.Have(attention(pair[1], performer.LinearOptions{}).NewState(d, 1))), name)
		}
	}
}
