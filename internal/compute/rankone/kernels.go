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
	corrects, decays [2]func(p *Pass[T]) // for decays, with and without Corrected
	// fours take four tokens at a time, and ones take one token, without decays and Corrected. The
	// last kernel also takes wider panels.
	fours, ones []func(p *Pass[T])
	// together takes four tokens that correct, without decays, and pairs computes the products of
	// their coefficients. Tiers without AVX-512 have neither, because corrects is as fast.
	together []func(p *Pass[T])
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
	width := bits.Len(uint(p.Width/k.lanes)) - 1
	switch {
	case p.corrects() && !p.decays() && p.Heads == 1 && k.together != nil:
		p.takeTogether(k.pairs, k.together[width])
	case p.corrects() && !p.decays():
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
	case p.decays():
		k.decays[width](p)
	default:
		width = min(width, len(k.ones)-1)
		p.first, p.end = 0, p.K.Rows/4*4
		if p.end > 0 {
			k.fours[width](p)
		}
		if p.first, p.end = p.end, p.K.Rows; p.first < p.end {
			k.ones[width](p)
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
