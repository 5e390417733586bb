package hadamard_test

import (
	"math/bits"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func testMatrix[T dense.Float](t *testing.T) {
	for n := 1; n <= 256; n++ {
		if isOrder(n) {
			orthogonal(t, hadamard.Matrix[T](n))
		}
	}
	// 343 = 7³, 499 prime, 1331 = 11³; 2(625 + 1) with 625 = 5⁴; 2028 = 2(1013 + 1).
	for _, n := range []int{344, 500, 688, 768, 1252, 1332, 2028} {
		orthogonal(t, hadamard.Matrix[T](n))
	}
}

// orthogonal checks that entries are ±1 and that any two rows differ in half of them.
func orthogonal[T dense.Float](t *testing.T, h dense.Matrix[T]) {
	n := h.Rows
	require.Equal(t, n, h.Cols)
	packed := make([][]uint64, n)
	for i := range packed {
		packed[i] = make([]uint64, (n+63)/64)
		for j, v := range h.Row(i) {
			if v == -1 {
				packed[i][j/64] |= 1 << (j % 64)
			} else if v != 1 {
				t.Fatalf("order %d: entry (%d, %d) is %v", n, i, j, v)
			}
		}
	}
	for i := range n {
		for j := range i {
			differ := 0
			for w, bitsOfRow := range packed[i] {
				differ += bits.OnesCount64(bitsOfRow ^ packed[j][w])
			}
			if 2*differ != n {
				t.Fatalf("order %d: rows %d and %d differ in %d places", n, i, j, differ)
			}
		}
	}
}

func TestMatrix(t *testing.T) {
	densetest.Both(t, testMatrix[float32], testMatrix[float64])
}

func TestCoreIsSharedByGoroutines(t *testing.T) {
	var wait sync.WaitGroup
	results := make([][]float64, 8)
	for i := range results {
		wait.Go(func() {
			x := make([]float64, 140)
			x[3] = 1
			hadamard.Transform(x)
			results[i] = x
		})
	}
	wait.Wait()
	for _, r := range results[1:] {
		assert.Equal(t, results[0], r)
	}
}
