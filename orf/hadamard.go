package orf

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/limit"
)

// Hadamard returns m frequencies in blocks of d' rows: those of a product of k
// factors (1/√d')·H·D_i with D_i random signs, in random order, times independent
// lengths from χ(d').
// H is a Hadamard matrix of order d' = hadamard.FastOrder(d), the smallest ≥ d
// that is about as fast as any: a power of two, 12, 20, 24, 40, 48, 80, 96, …
// Vectors of R^d are padded with zeros, so that W is d columns of the frequencies
// of R^d'. k is 3 unless Blocks sets it. The last block has m mod d' rows when d' does not divide m.
//
// W is orthogonal in each block when d = d', and every frequency has mean zero
// and covariance I. It is not exactly Gaussian, hence kernels other than the dot
// product are estimated with a bias that falls with d: for k = 3 and χ lengths,
// −4 % at d = 8 and −0.9 % at d = 16 for the Gaussian kernel at
// x − y = 1.5·e₁, nothing measurable at d = 64. With k = 1 it is bad on sparse
// x − y whatever d is.
//
// Cost: k·d' random bits a block; Project applies k transforms of order d' a row
// and block, however few of the block's rows are in use, and never forms W: O(n·m·log d)
// operations for m ≥ d'. It returns an error if m < 1,
// d < 1, m, d or k is too large for memory, src is nil, or an option other than
// FixedLength and Blocks is given.
//
// Sources: [Yu et al. 2016], [Choromanski et al. 2017].
func Hadamard[T dense.Float](m, d int, src rand.Source, opts ...Option) (Projection[T], error) {
	s, err := configure("Hadamard", m, d, src, opts, fixedLength, blocks)
	if err != nil {
		return nil, err
	}
	law := Ensemble{Kind: HadamardProduct, FixedLength: s.fixed, Factors: s.blocks, Order: hadamard.FastOrder(d)}
	if err := limit.Memory[T](blocksOf(m, law.Order), s.blocks, law.Order); err != nil {
		return nil, fmt.Errorf("orf: m = %d, d = %d, Blocks(%d): %w", m, d, s.blocks, err)
	}
	return stack(m, d, law, src, lengths(s.fixed, src), func() (operator[T], error) {
		return hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: s.blocks, Order: law.Order}, src)
	})
}
