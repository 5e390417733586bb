package bytedot

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// tier is the one that runs.
var tier = best(simd.Best, simd.ByteProducts)

// best returns the highest tier up to t that has kernels on a machine with or without products of
// bytes.
func best(t simd.Tier, byteProducts bool) simd.Tier {
	switch {
	case byteProducts:
	case t == simd.AVX512:
		return simd.AVX2
	case t == simd.NEON:
		return simd.Generic
	}
	return t
}
