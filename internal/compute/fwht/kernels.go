//go:build (amd64 || arm64) && !purego && !noasm

package fwht

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// best returns the kernels of the highest tier, or nil for the reference.
func best[T Float]() *kernels[T] {
	if size[T]() == 4 {
		return (*kernels[T])(unsafe.Pointer(best32))
	}
	return (*kernels[T])(unsafe.Pointer(best64))
}

// widest returns the kernels with the longest vectors of at most n elements, or
// nil.
func widest[T Float](n int) *kernels[T] {
	for tier := simd.Best; tier > simd.Generic; tier-- {
		if k := of[T](tier); k != nil && 1<<k.log <= n {
			return k
		}
	}
	return nil
}

var best32, best64 = of[float32](simd.Best), of[float64](simd.Best)
