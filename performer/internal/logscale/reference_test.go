package logscale

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
)

// A chunk ends where a later key would need another reference, rather than
// taking the maximum over all of its keys.
func TestReferenceFollowsTheFirstTokenOnly(t *testing.T) {
	r := NewReference[float64](2)
	logs := dense.Of(4, 2, []float64{1, 2, 5, 2, 1, 170, 1, 180})
	r.Raise(logs.Row(0), nil)
	assert.Equal(t, []int64{2, 3}, r.exponent, "1 ≤ 2·ln 2, 2 ≤ 3·ln 2")
	assert.Equal(t, 3, r.Admits(logs, false), "180 is more than 250 bits above 3·ln 2, 170 is not")
	peaks := make([]float64, 2)
	Peaks(peaks, logs)
	assert.False(t, r.AdmitsAll(peaks))
	changes := r.Raise(peaks, nil)
	assert.Equal(t, []int64{8, 260}, r.exponent)
	assert.Equal(t, []Change{{0, 2, 8}, {1, 3, 260}}, changes)
}
