package hadamard_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

func testAdjacentRows[T dense.Float](t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, s := range [][2]int{{7, 1}, {5, 2}, {1001, 4}, {3, 8}, {4001, 256}, {900, 768}, {2, 1 << 17}} {
		apart := densetest.Gapped[T](6, s[0], s[1])
		adjacent := apart.Clone()
		hadamard.TransformRows(apart)
		hadamard.TransformRows(adjacent)
		require.Equal(t, apart.Clone().Data, adjacent.Data, "%v", s)
		one := densetest.Gapped[T](6, s[0], s[1]).Row(s[0] - 1)
		hadamard.Transform(one)
		require.Equal(t, one, adjacent.Row(s[0]-1), "%v: last row alone", s)
	}
}

func TestAdjacentRowsAreTransformedLikeOthers(t *testing.T) {
	densetest.Both(t, testAdjacentRows[float32], testAdjacentRows[float64])
}

// testBatchAllocations counts as testing.AllocsPerRun does, which would reduce GOMAXPROCS to 1.
func testBatchAllocations[T dense.Float](t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	r := newRotation[T](t, 768, 3, 1)
	x, y := dense.New[T](256, 768), dense.New[T](256, 768)
	// WebAssembly has one processor, whatever GOMAXPROCS is set to.
	require.Equal(t, runtime.GOMAXPROCS(0) == 1, hadamard.Alone(r, x.Rows))
	const warm, runs = 50, 100
	var before, after runtime.MemStats
	for i := range warm + runs {
		if i == warm {
			runtime.ReadMemStats(&before)
		}
		hadamard.TransformRows(x)
		r.Apply(y, x)
		r.ApplyTransposed(x, y)
		clear(x.Data)
	}
	runtime.ReadMemStats(&after)
	assert.Zero(t, (after.Mallocs-before.Mallocs)/runs)
}

//ci:slow
func TestBatchesDoNotAllocate(t *testing.T) {
	densetest.Both(t, testBatchAllocations[float32], testBatchAllocations[float64])
}
