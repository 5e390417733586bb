//go:build !purego && !noasm

package rankone

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// of32 and of64 return the kernels of a tier, or nil for the reference.

func of32(tier simd.Tier) *kernels[float32] {
	if tier == simd.NEON {
		return &neon32
	}
	return nil
}

func of64(tier simd.Tier) *kernels[float64] {
	if tier == simd.NEON {
		return &neon64
	}
	return nil
}

var (
	neon32 = kernels[float32]{
		lanes: 4,
		corrects: [][2]func(p *Pass[float32]){
			{correct1F32NEON, decayCorrect1F32NEON},
			{correct2F32NEON, decayCorrect2F32NEON},
			{correct4F32NEON, decayCorrect4F32NEON},
		},
		decays: []func(p *Pass[float32]){decay1F32NEON, decay2F32NEON, decay4F32NEON},
		several: [][2]fourOrOne[float32]{
			{{add1By4F32NEON, add1By1F32NEON}, {decayAll1By4F32NEON, decayAll1By1F32NEON}},
			{{add2By4F32NEON, add2By1F32NEON}, {decayAll2By4F32NEON, decayAll2By1F32NEON}},
		},
	}
	neon64 = kernels[float64]{
		lanes: 2,
		corrects: [][2]func(p *Pass[float64]){
			{correct1F64NEON, decayCorrect1F64NEON},
			{correct2F64NEON, decayCorrect2F64NEON},
			{correct4F64NEON, decayCorrect4F64NEON},
		},
		decays: []func(p *Pass[float64]){decay1F64NEON, decay2F64NEON, decay4F64NEON},
		several: [][2]fourOrOne[float64]{
			{{add1By4F64NEON, add1By1F64NEON}, {decayAll1By4F64NEON, decayAll1By1F64NEON}},
			{{add2By4F64NEON, add2By1F64NEON}, {decayAll2By4F64NEON, decayAll2By1F64NEON}},
		},
	}
)
