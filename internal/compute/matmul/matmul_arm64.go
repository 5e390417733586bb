//go:build !purego && !noasm

package matmul

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// of32 and of64 return the kernels of a tier.

func of32(tier simd.Tier) *kernels[float32] {
	if tier == simd.NEON {
		return kernelsOf(4, strips32NEON[:], [2]packer[float32]{pack1F32NEON, pack2F32NEON}, [2]packer[float32]{unpack1F32NEON, unpack2F32NEON}, packTransposedF32NEON)
	}
	return generic[float32]()
}

func of64(tier simd.Tier) *kernels[float64] {
	if tier == simd.NEON {
		return kernelsOf(2, strips64NEON[:], [2]packer[float64]{pack1F64NEON, pack2F64NEON}, [2]packer[float64]{unpack1F64NEON, unpack2F64NEON}, packTransposedF64NEON)
	}
	return generic[float64]()
}

var (
	strips32NEON = [...][2]strip[float32]{
		{strip1x1F32NEON, strip1x2F32NEON},
		{strip2x1F32NEON, strip2x2F32NEON},
		{strip3x1F32NEON, strip3x2F32NEON},
		{strip4x1F32NEON, strip4x2F32NEON},
		{strip5x1F32NEON, strip5x2F32NEON},
		{strip6x1F32NEON, strip6x2F32NEON},
		{strip7x1F32NEON, strip7x2F32NEON},
		{strip8x1F32NEON, strip8x2F32NEON},
		{strip9x1F32NEON, strip9x2F32NEON},
		{strip10x1F32NEON, strip10x2F32NEON},
		{strip11x1F32NEON, strip11x2F32NEON},
		{strip12x1F32NEON, strip12x2F32NEON},
	}
	strips64NEON = [...][2]strip[float64]{
		{strip1x1F64NEON, strip1x2F64NEON},
		{strip2x1F64NEON, strip2x2F64NEON},
		{strip3x1F64NEON, strip3x2F64NEON},
		{strip4x1F64NEON, strip4x2F64NEON},
		{strip5x1F64NEON, strip5x2F64NEON},
		{strip6x1F64NEON, strip6x2F64NEON},
		{strip7x1F64NEON, strip7x2F64NEON},
		{strip8x1F64NEON, strip8x2F64NEON},
		{strip9x1F64NEON, strip9x2F64NEON},
		{strip10x1F64NEON, strip10x2F64NEON},
		{strip11x1F64NEON, strip11x2F64NEON},
		{strip12x1F64NEON, strip12x2F64NEON},
	}
)
