package clusters_test

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// Forward and Backward into memory that is there, and Attend of a state, allocate nothing once they
// have been called, with one processor and with several.
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
	padded := performer.Sequences{Queries: []int{n}, Past: []int{300}, Valid: make([]bool, n)}
	for j := range n - 100 {
		padded.Valid[j] = j%5 > 0
	}
	for _, processors := range []int{1, 2} {
		for _, causal := range []bool{false, true} {
			f := form(t, must.Have(performer.NewExact[T](performer.ExactOptions{Causal: causal})), clusters.Options{})
			b, one := batch[T](t, 2, 1, f), dst.ColRange(0, dv)
			require.Zero(t, allocs.Settled(processors, func() { f.Forward(one, q.ColRange(0, d), k, v) }), "causal %v, %d processors", causal, processors)
			require.Zero(t, allocs.Settled(processors, func() { b.ForwardSequences(dst, q, k, v, padded) }), "padded, causal %v, %d processors", causal, processors)
			require.Zero(t, allocs.Settled(processors, func() { b.BackwardSequences(dQ, dK, dV, q, k, v, dst, padded) }), "gradients, causal %v, %d processors", causal, processors)
		}
		s := state[T](t, form(t, must.Have(performer.NewExact[T](performer.ExactOptions{})), clusters.Options{}), 2, 1, d, dv)
		s.Append(k, v)
		require.Zero(t, allocs.Settled(processors, func() { s.Attend(dst.RowRange(0, 20), q.RowRange(0, 20)) }), "%d processors", processors)
	}
}
