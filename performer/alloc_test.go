package performer

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/race"
	"github.com/seed-feabd252/randfeat/rff"
)

// Forward into memory that is there allocates nothing once it has been called, with
// one processor and with several.
func TestNoAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	bothTypes(t, testAllocations[float32], testAllocations[float64])
}

func testAllocations[T dense.Float](t *testing.T) {
	const d = 16
	all := everyForm[T](d)
	for _, o := range forms {
		all = append(all, attention[T](must(rff.ELU[T](d)), o))
	}
	rng := rand.New(source(110))
	// A collection empties the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, form := range all {
		for _, heads := range []int{1, 3} {
			for _, n := range []int{40, 300} {
				q, k, v := gaussian[T](rng, n, heads*d, 0, 1), gaussian[T](rng, n, heads*d, 0, 1), gaussian[T](rng, n, heads*d, 0, 1)
				dst := dense.New[T](n, heads*d)
				f := form
				if heads > 1 {
					f = must(NewBatch(heads, heads, form))
				}
				for _, processors := range []int{1, 2} {
					require.Zero(t, allocations(processors, func() { f.Forward(dst, q, k, v) }),
						"%T %+v, %d heads, %d tokens, %d processors", form, form, heads, n, processors)
				}
			}
		}
	}
}

// allocations returns how often three calls of f allocate when they have settled: pools
// fill up while calls meet other processors than before.
func allocations(processors int, f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	var before, after runtime.MemStats
	for range 100 {
		runtime.ReadMemStats(&before)
		for range 3 {
			f()
		}
		runtime.ReadMemStats(&after)
		if after.Mallocs == before.Mallocs {
			return 0
		}
	}
	return after.Mallocs - before.Mallocs
}

// A counter that did not count would pass the test above.
func TestAllocationsAreCounted(t *testing.T) {
	var keep []byte
	assert.GreaterOrEqual(t, allocations(2, func() { keep = make([]byte, 1<<16) }), uint64(3))
	runtime.KeepAlive(keep)
}
