//go:build !purego && !noasm

package planerot

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// tiers32 and tiers64 are the kernels of the tiers that have some.

var tiers32 = map[simd.Tier]*kernels[float32]{
	simd.NEON: {
		lanes: 4,
		turn:  turners[float32]{turn1F32NEON, turn2F32NEON, turn3F32NEON, turn4F32NEON},
		enter: enterF32NEON,
		leave: leaveF32NEON,
		zero:  zeroF32NEON,
	},
}

var tiers64 = map[simd.Tier]*kernels[float64]{
	simd.NEON: {
		lanes: 2,
		turn:  turners[float64]{turn1F64NEON, turn2F64NEON, turn3F64NEON, turn4F64NEON},
		enter: enterF64NEON,
		leave: leaveF64NEON,
		zero:  zeroF64NEON,
	},
}
