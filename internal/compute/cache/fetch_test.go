package cache

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A prefetch changes nothing, at every place of a line and beyond the end of memory that is not
// ours.
func TestFetch(t *testing.T) {
	x := make([]float32, 3000)
	for i := range x {
		x[i] = float32(i)
	}
	want := slices.Clone(x)
	for i := range 40 {
		Fetch(x[i : 2*i])
		Fetch(x[len(x)-i:])
	}
	Fetch[float64](nil)
	assert.Equal(t, want, x)
	assert.Zero(t, int(testing.AllocsPerRun(10, func() { Fetch(x) })))
}
