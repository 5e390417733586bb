package recurrence_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// What no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most, large = math.MaxInt/2 + 1, 1 << 23 // memory holds large numbers, not large²
	memory := limittest.Memory(t, "recurrence")
	of := func(heads, keyHeads int, rule recurrence.Rule) recurrence.Recurrence[T] {
		return must.Have(recurrence.New[T](recurrence.Options{Heads: heads, KeyHeads: keyHeads, Rule: rule}))
	}
	for _, n := range []int{math.MaxInt, most, most / 2} {
		memory("Heads = %d: ", n)(recurrence.New[T](recurrence.Options{Heads: n, KeyHeads: 1}))
		memory("d = 3, dv = %d, for 2 heads of outputs and 1 of values with 3×%d sums: ", n, n)(of(2, 1, recurrence.Delta).NewState(3, n))
		memory("d = %d, dv = 3, for 2 heads of outputs and 1 of values with %d×3 sums: ", n, n)(of(2, 1, recurrence.Gated).NewState(n, 3))
	}
	memory("d = 1048576, dv = 1048576, for %d heads of outputs and %d of values", large, large)(of(large, large, recurrence.Linear).NewState(1<<20, 1<<20))
	_, err := of(8, 2, recurrence.GatedDelta).NewState(256, 256)
	assert.NoError(t, err)
}
