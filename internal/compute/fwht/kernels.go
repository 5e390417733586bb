package fwht

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

var best32, best64 = kernels32[simd.Best], kernels64[simd.Best]

func best[T Float]() *kernels[T] { return simd.Of[kernels[T], T](best32, best64) }

func of[T Float](tier simd.Tier) *kernels[T] {
	return simd.Of[kernels[T], T](kernels32[tier], kernels64[tier])
}

// widest returns the kernels with the longest vectors of at most n elements, or nil.
func widest[T Float](n int) *kernels[T] {
	for tier := simd.Best; tier > simd.Generic; tier-- {
		if k := of[T](tier); k != nil && 1<<k.log <= n {
			return k
		}
	}
	return nil
}
