//go:build !purego && !noasm

package planerot

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// tiers32 and tiers64 are the kernels of the tiers that have some.

var tiers32 = map[simd.Tier]*kernels[float32]{
	simd.AVX512: {
		lanes: 16,
		turn:  turners[float32]{turn1F32AVX512, turn2F32AVX512, turn3F32AVX512, turn4F32AVX512},
		enter: enterF32AVX512,
		leave: leaveF32AVX512,
		zero:  zeroF32AVX512,
	},
	simd.AVX2: {
		lanes: 8,
		turn:  turners[float32]{turn1F32AVX2, turn2F32AVX2, turn3F32AVX2, turn4F32AVX2},
		enter: enterF32AVX2,
		leave: leaveF32AVX2,
		zero:  zeroF32AVX2,
	},
}

var tiers64 = map[simd.Tier]*kernels[float64]{
	simd.AVX512: {
		lanes: 8,
		turn:  turners[float64]{turn1F64AVX512, turn2F64AVX512, turn3F64AVX512, turn4F64AVX512},
		enter: enterF64AVX512,
		leave: leaveF64AVX512,
		zero:  zeroF64AVX512,
	},
	simd.AVX2: {
		lanes: 4,
		turn:  turners[float64]{turn1F64AVX2, turn2F64AVX2, turn3F64AVX2, turn4F64AVX2},
		enter: enterF64AVX2,
		leave: leaveF64AVX2,
		zero:  zeroF64AVX2,
	},
}
