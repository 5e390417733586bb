package allocs_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
)

// A counter that did not count would pass the tests that use it.
func TestAllocationsAreCounted(t *testing.T) {
	var keep []byte
	for _, processors := range []int{1, 2} {
		assert.GreaterOrEqual(t, allocs.Settled(processors, func() { keep = make([]byte, 1<<16) }), uint64(3))
	}
	runtime.KeepAlive(keep)
}

func TestFirstCallsMayAllocate(t *testing.T) {
	calls := 0
	var keep []byte
	f := func() {
		if calls++; calls < 20 {
			keep = make([]byte, 1<<16)
		}
	}
	assert.Zero(t, allocs.Settled(1, f))
	assert.GreaterOrEqual(t, calls, 20)
	runtime.KeepAlive(keep)
}
