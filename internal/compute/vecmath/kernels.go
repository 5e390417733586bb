package vecmath

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

var tier = simd.Best

// kernel is a tier and an element type. Kernels are called by name: calls through variables would
// move slices on the stack of a caller to the heap.
type kernel int

func kernelOf[T Float]() kernel {
	return kernel(2*int(tier) + simd.Size[T]()/8)
}

func p32[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }
func p64[T Float](x []T) *float64 { return (*float64)(unsafe.Pointer(unsafe.SliceData(x))) }
