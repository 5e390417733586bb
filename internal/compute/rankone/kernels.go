package rankone

import (
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// kernels are the kernels of a tier. The index of a slice is the logarithm of the number of vectors
// of a panel.
type kernels[T dense.Float] struct {
	lanes            int
	corrects, decays [2]func(p *Pass[T]) // for decays of rows, with and without Corrected
	// fours take four tokens at a time, and ones take one token, without and with a decay for all
	// rows. The last kernel also takes wider panels.
	fours, ones [2][]func(p *Pass[T])
	// together takes four tokens that correct, without and with a decay for all rows. The last
	// kernel also takes wider panels. pairs computes the products of their coefficients.
	together [2][]func(p *Pass[T])
	pairs    func(p *Pass[T])
}

var best32, best64 = kernels32[simd.Best], kernels64[simd.Best]

func best[T dense.Float]() *kernels[T] { return simd.Of[kernels[T], T](best32, best64) }

func take[T dense.Float](p *Pass[T]) {
	k := best[T]()
	if k == nil {
		reference(p)
		return
	}
	width, decays := bits.Len(uint(p.Width/k.lanes))-1, 0
	if p.decays() {
		decays = 1
	}
	switch {
	case p.corrects() && p.Decays.Cols <= 1 && p.Heads == 1 && len(k.together[decays]) > 0 && p.mild():
		p.takeTogether(k.pairs, k.together[decays][min(width, len(k.together[decays])-1)])
	case p.corrects() && decays == 0:
		// Decays of 1 give the bits of tokens without decays.
		if len(p.Space) == 0 {
			p.Space = make([]T, 1)
		}
		p.Space[0] = 1
		p.Decays = dense.Matrix[T]{Rows: p.K.Rows, Cols: 1, Data: p.Space[:1]}
		k.corrects[width](p)
		p.Decays = dense.Matrix[T]{}
	case p.corrects():
		k.corrects[width](p)
	case p.Decays.Cols > 1:
		k.decays[width](p)
	default:
		width = min(width, len(k.ones[0])-1)
		p.first, p.end = 0, p.K.Rows/4*4
		if p.end > 0 {
			k.fours[decays][width](p)
		}
		if p.first, p.end = p.end, p.K.Rows; p.first < p.end {
			k.ones[decays][width](p)
		}
	}
}

func shape[T dense.Float]() (lanes, vectors int) {
	k := best[T]()
	if k == nil {
		return 8, 8 // of the reference
	}
	return k.lanes, len(k.decays)
}
