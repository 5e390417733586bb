package bytedot

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// tier is the tier of the kernels that run.
var tier = best(simd.Best, simd.ByteProducts)

// best returns the highest tier up to t that has kernels. Kernels of AVX-512 and NEON need products
// of bytes.
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
