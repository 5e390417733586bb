package bytedot

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

var (
	tier = best(simd.Best, simd.ByteProducts)

	// byteProducts reports whether kernels of AVX2 multiply bytes. Otherwise they multiply words.
	byteProducts = simd.AVXVNNI
)

func multipliesWords() bool { return tier == simd.AVX2 && !byteProducts }

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
