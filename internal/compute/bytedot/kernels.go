package bytedot

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

var (
	// tier is the tier of the kernels that run.
	tier = best(simd.Best, simd.ByteProducts)

	// byteProducts reports whether kernels of AVX2 multiply bytes. Otherwise they multiply words.
	byteProducts = simd.AVXVNNI
)

// multipliesWords reports whether kernels multiply words.
func multipliesWords() bool { return tier == simd.AVX2 && !byteProducts }

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
