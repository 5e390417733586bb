//go:build (amd64 || arm64) && !purego && !noasm

package vecmath

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// tier is the one that runs.
var tier = simd.Best

// kernel is a tier and an element type.
type kernel int

func kernelOf[T Float]() kernel {
	k := 2 * kernel(tier)
	if unsafe.Sizeof(T(0)) == 8 {
		k++
	}
	return k
}

func p32[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }
func p64[T Float](x []T) *float64 { return (*float64)(unsafe.Pointer(unsafe.SliceData(x))) }
