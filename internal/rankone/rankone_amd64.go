//go:build !purego && !noasm

package rankone

import (
	"math/bits"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/simd"
)

// kernels are those of a tier, by the logarithm of the number of vectors.
type kernels[T dense.Float] struct {
	lanes    int
	corrects [][2]func(p *Pass[T]) // without and with Decays
	decays   []func(p *Pass[T])    // for decays of rows
	several  [][2]fourOrOne[T]     // without and with a decay for all rows; the last for wider panels too
}

// fourOrOne are kernels for four tokens and for one token at a time.
type fourOrOne[T dense.Float] struct{ four, one func(p *Pass[T]) }

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
	switch {
	case p.corrects():
		k.corrects[width][index(p.decays())](p)
	case p.Decays.Cols > 1:
		k.decays[width](p)
	default:
		f := k.several[min(width, len(k.several)-1)][index(p.decays())]
		p.first, p.end = 0, p.K.Rows/4*4
		if p.end > 0 {
			f.four(p)
		}
		if p.first, p.end = p.end, p.K.Rows; p.first < p.end {
			f.one(p)
		}
	}
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
	return k.lanes, 1 << (len(k.decays) - 1)
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
