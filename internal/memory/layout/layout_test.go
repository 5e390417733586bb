package layout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

func TestHeads(t *testing.T) {
	m := dense.Of(2, 6, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	assert.Equal(t, dense.Of(2, 2, []float64{2, 3, 8, 9}), layout.Head(m, 1, 3).Clone())
	assert.Equal(t, dense.Of(2, 4, []float64{2, 3, 4, 5, 8, 9, 10, 11}), layout.Heads(m, 1, 3, 3).Clone())
	for want, n := range map[string][2]int{
		"Heads = 0, KeyHeads = 1, want at least 1 and Heads a multiple of KeyHeads": {0, 1},
		"Heads = 4, KeyHeads = 3, want at least 1 and Heads a multiple of KeyHeads": {4, 3},
	} {
		assert.EqualError(t, layout.CheckHeads[float32](n[0], n[1]), want)
	}
	assert.NoError(t, layout.CheckHeads[float32](4, 2))
	assert.ErrorContains(t, layout.CheckHeads[float32](math.MaxInt, 1), "of memory, want at most")
}

func TestLengths(t *testing.T) {
	assert.Equal(t, []int{0, 2, 2, 5}, layout.Starts([]int{}, []int{2, 0, 3}, 5))
	assert.Equal(t, []int{0, 5}, layout.Starts(nil, nil, 5))
	assert.NoError(t, layout.CheckLengths([]int{2, 0, 3}, 5))
	assert.EqualError(t, layout.CheckLengths([]int{2, 2}, 5), "is [2 2], want a sum of 5")
	assert.EqualError(t, layout.CheckLengths([]int{2, -1, 4}, 5), "has -1 at 1, want no negative length")
	assert.Error(t, layout.CheckLengths([]int{math.MaxInt, math.MaxInt, 7}, 5), "a sum that overflows to 5")
}

func TestRows(t *testing.T) {
	m := dense.Of(2, 4, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	var b scratch.Buffer[float64]
	got := layout.Gather(&b, m, []int{1, layout.NoRow, 0})
	assert.Equal(t, dense.Of(3, 4, []float64{5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4}), got.Clone())
	for _, c := range []struct {
		rows []int
		from int
		ok   bool
	}{{nil, 0, true}, {[]int{4, 5, 6}, 4, true}, {[]int{4, 6}, 0, false}, {[]int{layout.NoRow}, 0, false}, {[]int{0, layout.NoRow}, 0, false}} {
		from, ok := layout.Consecutive(c.rows)
		assert.Equal(t, c.from, from, c.rows)
		assert.Equal(t, c.ok, ok, c.rows)
	}
	assert.True(t, layout.IsZero([]float64{0, math.Copysign(0, -1)}))
	assert.False(t, layout.IsZero([]float64{0, math.NaN()}))
}
