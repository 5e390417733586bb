package pool

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGetIsNewOrWhatWasPut(t *testing.T) {
	var p Of[int]
	assert.Zero(t, *p.Get())
	kept := 0
	for range 100 { // the race detector makes pools forget at random
		v := p.Get()
		assert.Contains(t, []int{0, 7}, *v)
		if *v == 7 {
			kept++
		}
		*v = 7
		p.Put(v)
	}
	assert.Positive(t, kept)
}

// Each type has values of its own.
func TestPairKeepsTypesApart(t *testing.T) {
	var p Pair[[]float32, []float64]
	kept := 0
	for range 100 {
		single, double := Get[[]float32](&p), Get[[]float64](&p)
		assert.Contains(t, []int{0, 4}, len(*single))
		assert.Contains(t, []int{0, 8}, len(*double))
		if len(*single) > 0 && len(*double) > 0 {
			kept++
		}
		*single, *double = make([]float32, 4), make([]float64, 8)
		Put(&p, single)
		Put(&p, double)
	}
	assert.Positive(t, kept)
}
