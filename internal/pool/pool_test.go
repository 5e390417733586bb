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
