package clusters_test

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// Forward and Backward into memory that is there allocate nothing once they have been called, with
// one processor and with several.
func TestNoAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testNoAllocations[float32], testNoAllocations[float64])
}

func testNoAllocations[T dense.Float](t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	const n, d, dv = 2200, 6, 4
	q, k, v := heads[T](n, 2, 1, d, dv, 1)
	dst := dense.New[T](n, 2*dv)
	dQ, dK, dV := q.Clone(), k.Clone(), v.Clone()
	padded := performer.Sequences{Queries: []int{n}, Valid: make([]bool, n)}
	for j := range n - 100 {
		padded.Valid[j] = j%5 > 0
	}
	for _, processors := range []int{1, 2} {
		f := form(t, must.Have(performer.NewExact[T](performer.ExactOptions{})), clusters.Options{})
		b, one := batch[T](t, 2, 1, f), dst.ColRange(0, dv)
		require.Zero(t, allocs.Settled(processors, func() { f.Forward(one, q.ColRange(0, d), k, v) }), "%d processors", processors)
		require.Zero(t, allocs.Settled(processors, func() { b.ForwardSequences(dst, q, k, v, padded) }), "padded, %d processors", processors)
		require.Zero(t, allocs.Settled(processors, func() { b.BackwardSequences(dQ, dK, dV, q, k, v, dst, padded) }), "gradients, %d processors", processors)
	}
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
