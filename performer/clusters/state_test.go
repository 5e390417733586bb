package clusters_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// state returns an empty state of heads that have the form, over keyHeads heads of keys.
func state[T dense.Float](t testing.TB, f performer.Attention[T], heads, keyHeads, d, dv int) *performer.State[T] {
	t.Helper()
	b, err := performer.NewBatch(heads, keyHeads, f)
	require.NoError(t, err)
	s, err := b.NewState(d, dv)
	require.NoError(t, err)
	return s
}

// heads returns tokens of several heads side by side, which differ.
func heads[T dense.Float](n, queryHeads, keyHeads, d, dv int, seed uint64) (q, k, v dense.Matrix[T]) {
	q, k, v = dense.New[T](n, queryHeads*d), dense.New[T](n, keyHeads*d), dense.New[T](n, keyHeads*dv)
	for h := range keyHeads {
		hq, hk, hv := tokens[T](n, d, dv, 6, seed+uint64(h))
		dense.Copy(layout.Head(k, h, keyHeads), hk)
		dense.Copy(layout.Head(v, h, keyHeads), hv)
		group := queryHeads / keyHeads
		for i := range group {
			at := layout.Head(q, h*group+i, queryHeads)
			for row := range n {
				copy(at.Row(row), hq.Row((row+i)%n))
			}
		}
	}
	return q, k, v
}

func identical[T dense.Float](t testing.TB, want, got dense.Matrix[T], args ...any) {
	t.Helper()
	require.True(t, densetest.Identical(want, got), args...)
}

// With a threshold that scores every key a state is exact to rounding; with the default it is near
// where words repeat. Heads of queries share heads of keys.
func TestState(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { testState[float32](t, 2e-5) })
	t.Run("type=float64", func(t *testing.T) { testState[float64](t, 1e-13) })
}

func testState[T dense.Float](t *testing.T, rounding float64) {
	const d, dv = 8, 3
	exact := must.Have(performer.NewExact[T](performer.ExactOptions{}))
	// Clusters are found once or twice.
	for _, c := range []struct{ n, heads, keyHeads int }{{2400, 1, 1}, {1400, 4, 2}} {
		n := c.n
		q, k, v := heads[T](n, c.heads, c.keyHeads, d, dv, 1)
		want := state[T](t, exact, c.heads, c.keyHeads, d, dv).Step(dense.Matrix[T]{}, q, k, v)
		step := func(threshold float64) dense.Matrix[T] {
			s := state[T](t, form(t, exact, clusters.Options{Threshold: threshold}), c.heads, c.keyHeads, d, dv)
			out := s.Step(dense.Matrix[T]{}, q, k, v)
			assert.Equal(t, n, s.Len())
			return out
		}
		assert.Less(t, relative(step(1e-30), want), rounding)
		near := relative(step(0), want)
		assert.Less(t, near, 0.02)
		assert.Greater(t, relative(step(1e30), want), near, "no key of a cluster is scored")
	}
}

// Outputs depend on the tokens, not on the calls that brought them, on processors or on copies.
//
//ci:race
func TestStateProcessors(t *testing.T) {
	const n, d, dv = 2400, 6, 5
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Causal: true})), clusters.Options{})
	q, k, v := heads[float32](n, 4, 2, d, dv, 2)
	one := state[float32](t, f, 4, 2, d, dv)
	one.Append(k, v)
	want := one.Attend(dense.Matrix[float32]{}, q.RowRange(0, 40))
	for _, cut := range []int{1, 100, 256, 1000} {
		s := state[float32](t, f, 4, 2, d, dv)
		for from := 0; from < n; from += cut {
			s.Append(k.RowRange(from, min(from+cut, n)), v.RowRange(from, min(from+cut, n)))
		}
		identical(t, want, s.Attend(dense.Matrix[float32]{}, q.RowRange(0, 40)), "cut", cut)
	}
	old := runtime.GOMAXPROCS(1)
	s := state[float32](t, f, 4, 2, d, dv)
	s.Step(dense.Matrix[float32]{}, q, k, v)
	got := s.Attend(dense.Matrix[float32]{}, q.RowRange(0, 40))
	runtime.GOMAXPROCS(old)
	identical(t, want, got)
	single := state[float32](t, f, 1, 1, d, dv)
	single.Append(layout.Head(k, 1, 2), layout.Head(v, 1, 2))
	multi := state[float32](t, f, 2, 2, d, dv)
	multi.Append(k, v)
	both := q.ColRange(0, 2*d)
	identical(t, single.Attend(dense.Matrix[float32]{}, layout.Head(both, 1, 2)),
		layout.Head(multi.Attend(dense.Matrix[float32]{}, both), 1, 2).Clone(), "heads of keys do not meet")
}

// A Rollback restores the bits, whether or not tokens have gone into clusters since, or clusters
// have been found.
func TestStateRollback(t *testing.T) {
	const n, d, dv = 4300, 6, 2
	f := form(t, must.Have(performer.NewExact[float64](performer.ExactOptions{})), clusters.Options{})
	q, k, v := heads[float64](n, 2, 1, d, dv, 3)
	none := dense.Matrix[float64]{}
	for _, at := range []int{0, 1, 255, 256, 257, 1024, 1300, 2049} {
		s := state[float64](t, f, 2, 1, d, dv)
		s.Append(k.RowRange(0, at), v.RowRange(0, at))
		want := s.Attend(none, q.RowRange(0, 5))
		mark := s.Snapshot(nil)
		twin := s.Clone()
		for _, draft := range []int{1, 10, 300, 600, 1700} {
			s.Append(k.RowRange(at, at+draft), v.RowRange(at, at+draft))
			s.Rollback(mark)
			require.Equal(t, at, s.Len())
			identical(t, want, s.Attend(none, q.RowRange(0, 5)), "at", at, "draft", draft)
		}
		to := n
		if at < 2048 {
			to = 2100 // segments are complete every 256 tokens
		}
		more := s.Step(none, q.RowRange(at, to), k.RowRange(at, to), v.RowRange(at, to))
		identical(t, want, twin.Attend(none, q.RowRange(0, 5)), "the clone has its own tokens")
		identical(t, more, twin.Step(none, q.RowRange(at, to), k.RowRange(at, to), v.RowRange(at, to)), "at", at)
		s.Reset()
		if assert.Zero(t, s.Len()); at > 0 {
			assert.Panics(t, func() { s.Rollback(mark) })
		}
		s.Append(k.RowRange(0, at), v.RowRange(0, at))
		identical(t, want, s.Attend(none, q.RowRange(0, 5)), "after Reset")
	}
}

// Merge takes in the tokens of the other state after its own.
//
//ci:portable
func TestStateMerge(t *testing.T) {
	const n, d, dv = 2700, 5, 4
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	q, k, v := heads[float32](n, 2, 2, d, dv, 4)
	none := dense.Matrix[float32]{}
	all := state[float32](t, f, 2, 2, d, dv)
	all.Append(k, v)
	q = q.RowRange(0, 300)
	want := all.Attend(none, q)
	for _, at := range []int{0, 500, 1400, n} {
		a, b := state[float32](t, f, 2, 2, d, dv), state[float32](t, f, 2, 2, d, dv)
		a.Append(k.RowRange(0, at), v.RowRange(0, at))
		b.Append(k.RowRange(at, n), v.RowRange(at, n))
		require.NoError(t, a.Merge(b))
		identical(t, want, a.Attend(none, q), "at", at)
		assert.Equal(t, n-at, b.Len())
	}
	twice := all.Clone()
	require.NoError(t, twice.Merge(twice))
	all.Append(k, v)
	identical(t, all.Attend(none, q), twice.Attend(none, q))
}

// A state that reads bytes goes on with the bits of the state that they are of.
//
//ci:portable
func TestStateBytes(t *testing.T) {
	densetest.Both(t, testStateBytes[float32], testStateBytes[float64])
}

func testStateBytes[T dense.Float](t *testing.T) {
	const n, d, dv = 2300, 3, 2
	none := dense.Matrix[T]{}
	q, k, v := heads[T](n, 2, 1, d, dv, 5)
	f := form(t, must.Have(performer.NewExact[T](performer.ExactOptions{})), clusters.Options{})
	for _, at := range []int{0, 1, 1023, 2200} {
		s := state[T](t, f, 2, 1, d, dv)
		s.Append(k.RowRange(0, at), v.RowRange(0, at))
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		read := state[T](t, f, 2, 1, d, dv)
		read.Append(k.RowRange(7, 90), v.RowRange(7, 90))
		require.NoError(t, read.UnmarshalBinary(data))
		assert.Equal(t, at, read.Len())
		again, err := read.MarshalBinary()
		require.NoError(t, err)
		assert.True(t, slices.Equal(data, again))
		rng := rand.New(rand.NewPCG(9, uint64(at)))
		for range 40 { // damage of one byte, and a cut
			damaged := slices.Clone(data)
			damaged[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
			require.Error(t, read.UnmarshalBinary(damaged))
			require.Error(t, read.UnmarshalBinary(data[:rng.IntN(len(data))]))
		}
		to := min(at+1200, n) // beyond the next tokens at which clusters are found
		identical(t, s.Step(none, q.RowRange(at, to), k.RowRange(at, to), v.RowRange(at, to)),
			read.Step(none, q.RowRange(at, to), k.RowRange(at, to), v.RowRange(at, to)), "at", at)
	}
}

// States of other forms are refused, by Merge and by UnmarshalBinary.
func TestStateOfAnotherForm(t *testing.T) {
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	_, k, v := tokens[float64](50, 3, 2, 2, 6)
	f := form(t, exact, clusters.Options{})
	other := func(exact performer.Exact[float64], opts clusters.Options, seed uint64) performer.Attention[float64] {
		f, err := clusters.New[float64](exact.Options(), opts, rand.NewPCG(seed, 6))
		require.NoError(t, err)
		return f
	}
	const belongs = "performer: %s = %v, but the state belongs to attention with %v"
	for want, o := range map[string]performer.Attention[float64]{
		"clusters: other belongs to other attention, the state to attention by clusters":                      exact,
		fmt.Sprintf(belongs, "Scale", 3, 1/math.Sqrt(3)):                                                      other(must.Have(performer.NewExact[float64](performer.ExactOptions{Scale: 3})), clusters.Options{}, 5),
		fmt.Sprintf(belongs, "Clusters", 9, 0):                                                                other(exact, clusters.Options{Clusters: 9}, 5),
		fmt.Sprintf(belongs, "Threshold", 9, 0.0003):                                                          other(exact, clusters.Options{Threshold: 9}, 5),
		fmt.Sprintf(belongs, "Iterations", 9, 3):                                                              other(exact, clusters.Options{Iterations: 9}, 5),
		fmt.Sprintf(belongs, "the first word of src", rand.NewPCG(6, 6).Uint64(), rand.NewPCG(5, 6).Uint64()): other(exact, clusters.Options{}, 6),
	} {
		s, x := state[float64](t, f, 1, 1, 3, 2), state(t, o, 1, 1, 3, 2)
		x.Append(k, v)
		assert.EqualError(t, s.Merge(x), want)
		data, err := x.MarshalBinary()
		require.NoError(t, err)
		assert.Error(t, s.UnmarshalBinary(data), want)
		assert.Zero(t, s.Len())
	}
	assert.Error(t, state[float64](t, exact, 1, 1, 3, 2).Merge(state[float64](t, f, 1, 1, 3, 2)))
}

// Few tokens, one dimension, equal keys, more clusters than tokens.
func TestStateSmall(t *testing.T) {
	const n = 1300
	none := dense.Matrix[float64]{}
	for _, count := range []int{0, 1, 5000} {
		f := form(t, must.Have(performer.NewExact[float64](performer.ExactOptions{})), clusters.Options{Clusters: count, Threshold: 1e-30})
		for _, equal := range []bool{false, true} {
			q, k, v := tokens[float64](n, 1, 1, 2, 7)
			if equal {
				clear(k.Data)
			}
			s, exact := state[float64](t, f, 1, 1, 1, 1), state[float64](t, must.Have(performer.NewExact[float64](performer.ExactOptions{})), 1, 1, 1, 1)
			assert.Zero(t, slices.Max(s.Attend(none, q).Data), "no token")
			assert.Equal(t, 0, s.Attend(none, q.RowRange(0, 0)).Rows)
			s.Append(k.RowRange(0, 0), v.RowRange(0, 0))
			first := s.Step(none, q.RowRange(0, 1), k.RowRange(0, 1), v.RowRange(0, 1))
			assert.InDelta(t, v.Row(0)[0], first.Row(0)[0], 1e-15, "one token")
			exact.Step(none, q.RowRange(0, 1), k.RowRange(0, 1), v.RowRange(0, 1))
			want := exact.Step(none, q.RowRange(1, n), k.RowRange(1, n), v.RowRange(1, n))
			got := s.Step(none, q.RowRange(1, n), k.RowRange(1, n), v.RowRange(1, n))
			for i := range want.Rows {
				require.InDelta(t, want.Row(i)[0], got.Row(i)[0], 1e-12, "%d clusters, row %d", count, i)
			}
		}
	}
}

// NaN and Inf reach the outputs that exact attention has them in, and no other row or column.
func TestStateNotFinite(t *testing.T) {
	const n = 1500
	none := dense.Matrix[float64]{}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := form(t, must.Have(performer.NewExact[float64](performer.ExactOptions{})), clusters.Options{Threshold: 1e-30})
		for _, place := range []string{"value", "key", "query"} {
			q, k, v := tokens[float64](n, 4, 3, 3, 6)
			switch place {
			case "value":
				v.Row(900)[1] = x
			case "key":
				k.Row(1200)[2] = x
			default:
				q.Row(1300)[0] = x
			}
			want := state[float64](t, must.Have(performer.NewExact[float64](performer.ExactOptions{})), 1, 1, 4, 3).Step(none, q, k, v)
			compareNaN(t, want, state[float64](t, f, 1, 1, 4, 3).Step(none, q, k, v))
		}
	}
}

// Scores that are far above those of the means of clusters do not overflow.
func TestStateOutputsAreAverages(t *testing.T) {
	for _, norm := range []float64{0, 1, 30, 1e4} {
		q, k, v := tokens[float32](1500, 8, 3, norm, 2)
		for i := range v.Rows {
			v.Row(i)[0], v.Row(i)[1] = 1, float32(i%2)
		}
		f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{Clusters: 3})
		out := state[float32](t, f, 1, 1, 8, 3).Step(dense.Matrix[float32]{}, q, k, v)
		for i := range out.Rows {
			require.InDelta(t, 1, out.Row(i)[0], 1e-5, "row %d", i)
			require.True(t, -1e-5 < out.Row(i)[1] && out.Row(i)[1] < 1+1e-5, "row %d: %v", i, out.Row(i)[1])
		}
	}
}

// Clones of one state, in goroutines of their own, give the bits of a single goroutine, whatever
// they do. The clones themselves are made at once.
//
//ci:race
func TestSharedStates(t *testing.T) {
	const n, d, dv, clones = 1400, 6, 5, 4
	none := dense.Matrix[float32]{}
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	q, k, v := heads[float32](n, 4, 2, d, dv, 8)
	s, other := state[float32](t, f, 4, 2, d, dv), state[float32](t, f, 4, 2, d, dv)
	s.Append(k.RowRange(0, 1100), v.RowRange(0, 1100))
	other.Append(k.RowRange(1100, n), v.RowRange(1100, n))
	use := func(s *performer.State[float32]) []dense.Matrix[float32] {
		mark := s.Snapshot(nil)
		draft := s.Step(none, q.RowRange(0, 200), k.RowRange(0, 200), v.RowRange(0, 200))
		s.Rollback(mark)
		merge := s.Merge(other)
		twin := s.Clone()
		s.Append(k, v)
		data, err := s.MarshalBinary()
		if merge != nil || err != nil || twin.UnmarshalBinary(data) != nil {
			return nil
		}
		return []dense.Matrix[float32]{draft, s.Attend(none, q.RowRange(0, 50)), twin.Attend(none, q.RowRange(0, 50))}
	}
	want := use(s.Clone())
	require.NotNil(t, want)
	var got [clones][]dense.Matrix[float32]
	var all sync.WaitGroup
	for i := range clones {
		all.Go(func() { got[i] = use(s.Clone()) })
	}
	all.Wait()
	for i := range clones {
		require.Len(t, got[i], len(want))
		for j := range want {
			identical(t, want[j], got[i][j], "clone", i, "output", j)
		}
	}
	assert.Equal(t, 1100, s.Len())
}

func TestStateErrors(t *testing.T) {
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})), clusters.Options{})
	_, err := f.NewState(0, 1)
	assert.EqualError(t, err, "performer: d = 0, dv = 1, want at least 1")
}
