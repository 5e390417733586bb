package hadamard_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func testSequency[T dense.Float](t *testing.T) {
	for n := 1; n <= 256; n *= 2 {
		h := hadamard.Matrix[T](n)
		for i := range n {
			changes := 0
			row := h.Row(i)
			for j := 1; j < n; j++ {
				if row[j] != row[j-1] {
					changes++
				}
			}
			require.Equal(t, i, hadamard.NaturalIndex(changes, n), "n = %d: row %d", n, i)
		}
		wide := densetest.Gapped[T](1, 1, n+2).Row(0)
		before := slices.Clone(wide)
		x := wide[1 : n+1]
		hadamard.Sequency(x)
		for s, v := range x {
			require.Equal(t, before[1+hadamard.NaturalIndex(s, n)], v, "n = %d, s = %d", n, s)
		}
		hadamard.Natural(x)
		require.Equal(t, before, wide, "n = %d: there and back", n)
	}
}

func TestSequency(t *testing.T) {
	densetest.Both(t, testSequency[float32], testSequency[float64])
}

func TestSequencyPanics(t *testing.T) {
	assert.PanicsWithValue(t, "hadamard: length 12 is not a power of two", func() { hadamard.Sequency(make([]float32, 12)) })
	assert.PanicsWithValue(t, "hadamard: length 0 is not a power of two", func() { hadamard.Natural([]float64{}) })
	assert.PanicsWithValue(t, "hadamard: order 12 is not a power of two", func() { hadamard.NaturalIndex(0, 12) })
	assert.PanicsWithValue(t, "hadamard: index 8 of order 8", func() { hadamard.NaturalIndex(8, 8) })
	assert.PanicsWithValue(t, "hadamard: index -1 of order 8", func() { hadamard.NaturalIndex(-1, 8) })
}
