//go:build (amd64 || arm64) && !purego && !noasm

package rankone

import (
	"math/bits"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
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
