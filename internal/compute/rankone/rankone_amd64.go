//go:build !purego && !noasm

package rankone

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// of32 and of64 return the kernels of a tier, or nil for the reference.

func of32(tier simd.Tier) *kernels[float32] {
	switch tier {
	case simd.AVX512:
		return &wide32
	case simd.AVX2:
		return &narrow32
	}
	return nil
}

func of64(tier simd.Tier) *kernels[float64] {
	switch tier {
	case simd.AVX512:
		return &wide64
	case simd.AVX2:
		return &narrow64
	}
	return nil
}

var (
	wide32 = kernels[float32]{
		lanes: 16,
		corrects: [][2]func(p *Pass[float32]){
			{correct1F32AVX512, decayCorrect1F32AVX512},
			{correct2F32AVX512, decayCorrect2F32AVX512},
			{correct4F32AVX512, decayCorrect4F32AVX512},
		},
		decays: []func(p *Pass[float32]){decay1F32AVX512, decay2F32AVX512, decay4F32AVX512},
		several: [][2]fourOrOne[float32]{
			{{add1By4F32AVX512, add1By1F32AVX512}, {decayAll1By4F32AVX512, decayAll1By1F32AVX512}},
			{{add2By4F32AVX512, add2By1F32AVX512}, {decayAll2By4F32AVX512, decayAll2By1F32AVX512}},
		},
	}
	wide64 = kernels[float64]{
		lanes: 8,
		corrects: [][2]func(p *Pass[float64]){
			{correct1F64AVX512, decayCorrect1F64AVX512},
			{correct2F64AVX512, decayCorrect2F64AVX512},
			{correct4F64AVX512, decayCorrect4F64AVX512},
		},
		decays: []func(p *Pass[float64]){decay1F64AVX512, decay2F64AVX512, decay4F64AVX512},
		several: [][2]fourOrOne[float64]{
			{{add1By4F64AVX512, add1By1F64AVX512}, {decayAll1By4F64AVX512, decayAll1By1F64AVX512}},
			{{add2By4F64AVX512, add2By1F64AVX512}, {decayAll2By4F64AVX512, decayAll2By1F64AVX512}},
		},
	}
	narrow32 = kernels[float32]{
		lanes: 8,
		corrects: [][2]func(p *Pass[float32]){
			{correct1F32AVX2, decayCorrect1F32AVX2},
			{correct2F32AVX2, decayCorrect2F32AVX2},
		},
		decays: []func(p *Pass[float32]){decay1F32AVX2, decay2F32AVX2},
		several: [][2]fourOrOne[float32]{
			{{add1By4F32AVX2, add1By1F32AVX2}, {decayAll1By4F32AVX2, decayAll1By1F32AVX2}},
		},
	}
	narrow64 = kernels[float64]{
		lanes: 4,
		corrects: [][2]func(p *Pass[float64]){
			{correct1F64AVX2, decayCorrect1F64AVX2},
			{correct2F64AVX2, decayCorrect2F64AVX2},
		},
		decays: []func(p *Pass[float64]){decay1F64AVX2, decay2F64AVX2},
		several: [][2]fourOrOne[float64]{
			{{add1By4F64AVX2, add1By1F64AVX2}, {decayAll1By4F64AVX2, decayAll1By1F64AVX2}},
		},
	}
)
