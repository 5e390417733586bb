//go:build (amd64 || arm64) && !purego && !noasm

package planerot

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

var best32, best64 = tiers32[simd.Best], tiers64[simd.Best]

type (
	turner[T Float]  = func(block *T, turns *int32, count, step, i, j int)
	turners[T Float] = [mostVectors]turner[T]
)
