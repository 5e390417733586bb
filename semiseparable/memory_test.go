package semiseparable

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

func testAllocations[T dense.Float](t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	rng := rand.New(rand.NewPCG(27, 28))
	m, v := deltaRule[T](rng, 700, 50), densetest.Normal[T](rng, 700, 90, 0, 1)
	dst, square := dense.New[T](700, 90), dense.New[T](700, 700)
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		_, _ = m.Solve(dst, v)
		_, _ = m.SolveTransposed(dst, dst)
		_, _ = m.Inverse(square)
	}))
}

func TestDoesNotAllocate(t *testing.T) {
	densetest.Both(t, testAllocations[float32], testAllocations[float64])
}

// TestMemoryDoesNotGrow counts what a first call allocates for two lengths.
func TestMemoryDoesNotGrow(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	rng := rand.New(rand.NewPCG(29, 30))
	first := func(n int) uint64 {
		m, v := deltaRule[float64](rng, n, 40), densetest.Normal[float64](rng, n, 50, 0, 1)
		dst := dense.New[float64](n, 50)
		// Two collections empty a pool.
		runtime.GC()
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := m.Solve(dst, v)
		runtime.ReadMemStats(&after)
		assert.NoError(t, err)
		return after.TotalAlloc - before.TotalAlloc
	}
	short, long := first(2000), first(40000)
	assert.Positive(t, short)
	// Packing of triangles may take memory of its own in as many goroutines as there are.
	assert.Less(t, long, short+1<<18, "dst has %d bytes", 40000*50*8)
}
