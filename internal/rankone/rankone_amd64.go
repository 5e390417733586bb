//go:build !purego && !noasm

package rankone

import (
	"math/bits"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/simd"
)

// kernels are those of a tier, by the logarithm of the number of vectors of a panel.
type kernels[T dense.Float] struct {
	lanes int
	takes [][2][2]func(p *Pass[T]) // without and with Corrected, then without and with Decays
	fours [][2]func(p *Pass[T])    // four tokens at a time, without and with a decay for all rows
}

// best returns the kernels of the highest tier, or nil for the reference.
func best[T dense.Float]() *kernels[T] {
	var x T
	if unsafe.Sizeof(x) == 4 {
		return (*kernels[T])(unsafe.Pointer(best32))
	}
	return (*kernels[T])(unsafe.Pointer(best64))
}

func take[T dense.Float](p *Pass[T]) {
	k := best[T]()
	if k == nil {
		reference(p)
		return
	}
	width := bits.Len(uint(p.Width/k.lanes)) - 1
	p.taken = 0
	if !p.corrects() && p.Decays.Cols <= 1 && p.K.Rows >= 4 {
		p.taken = p.K.Rows / 4 * 4
		k.fours[width][index(p.decays())](p)
		if p.taken == p.K.Rows {
			return
		}
	}
	k.takes[width][index(p.corrects())][index(p.decays())](p)
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shape returns the number of elements of a vector and the largest number of vectors of a panel.
func shape[T dense.Float]() (lanes, vectors int) {
	k := best[T]()
	if k == nil {
		return generic[T]()
	}
	return k.lanes, 1 << (len(k.takes) - 1)
}

var best32, best64 = of32(simd.Best), of64(simd.Best)

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
	wide32 = kernels[float32]{lanes: 16, takes: [][2][2]func(p *Pass[float32]){
		{{add1F32AVX512, decay1F32AVX512}, {correct1F32AVX512, decayCorrect1F32AVX512}},
		{{add2F32AVX512, decay2F32AVX512}, {correct2F32AVX512, decayCorrect2F32AVX512}},
		{{add4F32AVX512, decay4F32AVX512}, {correct4F32AVX512, decayCorrect4F32AVX512}},
	}, fours: [][2]func(p *Pass[float32]){
		{addFours1F32AVX512, decayFours1F32AVX512},
		{addFours2F32AVX512, decayFours2F32AVX512},
		{addFours2F32AVX512, decayFours2F32AVX512},
	}}
	wide64 = kernels[float64]{lanes: 8, takes: [][2][2]func(p *Pass[float64]){
		{{add1F64AVX512, decay1F64AVX512}, {correct1F64AVX512, decayCorrect1F64AVX512}},
		{{add2F64AVX512, decay2F64AVX512}, {correct2F64AVX512, decayCorrect2F64AVX512}},
		{{add4F64AVX512, decay4F64AVX512}, {correct4F64AVX512, decayCorrect4F64AVX512}},
	}, fours: [][2]func(p *Pass[float64]){
		{addFours1F64AVX512, decayFours1F64AVX512},
		{addFours2F64AVX512, decayFours2F64AVX512},
		{addFours2F64AVX512, decayFours2F64AVX512},
	}}
	narrow32 = kernels[float32]{lanes: 8, takes: [][2][2]func(p *Pass[float32]){
		{{add1F32AVX2, decay1F32AVX2}, {correct1F32AVX2, decayCorrect1F32AVX2}},
		{{add2F32AVX2, decay2F32AVX2}, {correct2F32AVX2, decayCorrect2F32AVX2}},
	}, fours: [][2]func(p *Pass[float32]){
		{addFours1F32AVX2, decayFours1F32AVX2},
		{addFours1F32AVX2, decayFours1F32AVX2},
	}}
	narrow64 = kernels[float64]{lanes: 4, takes: [][2][2]func(p *Pass[float64]){
		{{add1F64AVX2, decay1F64AVX2}, {correct1F64AVX2, decayCorrect1F64AVX2}},
		{{add2F64AVX2, decay2F64AVX2}, {correct2F64AVX2, decayCorrect2F64AVX2}},
	}, fours: [][2]func(p *Pass[float64]){
		{addFours1F64AVX2, decayFours1F64AVX2},
		{addFours1F64AVX2, decayFours1F64AVX2},
	}}
)
