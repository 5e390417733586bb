package cache

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestAligned(t *testing.T) {
	for n := range 40 {
		x := Aligned[float32](nil, n)
		assert.Len(t, x, n)
		assert.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(x)))%Line)
	}
	x := Aligned[float64](nil, 30)
	assert.Same(t, &x[0], &Aligned(x, 20)[0])
	assert.Same(t, &x[0], &Aligned(x[:3], 30)[0])
	assert.Len(t, Aligned(x, 1000), 1000)
	assert.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(Aligned[uint8](nil, 3))))%Line)
}
