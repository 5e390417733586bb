package performer_test

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// Forward into memory that is there allocates nothing once it has been called, with
// one processor and with several.
func TestNoAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testAllocations[float32], testAllocations[float64])
}

func testAllocations[T dense.Float](t *testing.T) {
	const d = 16
	all := everyForm[T](d)
	for _, o := range forms {
		all = append(all, attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), o))
	}
	rng := rand.New(densetest.Source(110))
	// A collection empties the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, form := range all {
		for _, heads := range []int{1, 3} {
			for _, n := range []int{40, 300} {
				q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1)
				dst := dense.New[T](n, heads*d)
				f := form
				if heads > 1 {
					f = must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads}, form))
				}
				for _, processors := range []int{1, 2} {
					require.Zero(t, allocs.Settled(processors, func() { f.Forward(dst, q, k, v) }),
						"%T %+v, %d heads, %d tokens, %d processors", form, form, heads, n, processors)
				}
			}
		}
	}
}
