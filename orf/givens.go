package orf

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/planerot"
)

// Givens returns m frequencies in blocks of d: the rows, in random order, of a
// product of N random plane rotations, times independent lengths from χ(d) and
// independent random signs. N is ⌈d·log₂ d⌉ unless Rotations sets it. The last
// block has m mod d rows when d does not divide m.
//
// W is orthogonal in each block for any d, without padding, and every frequency
// has mean zero and covariance I. The mean is what the signs are for: rotations
// alone would leave it at (1 − 2/d)^N·E[χ(d)]/d in every coordinate, and in R¹,
// which has no planes, all frequencies positive. The law tends to that of
// GramSchmidt as N grows.
//
// The default N is where a vector of many coordinates of equal size is nearly
// uniform; along a single axis it is not: the fourth moment of wᵀe₁ exceeds that
// of a normal variable, and kernels that depend on more than the covariance are
// biased. For the Gaussian kernel at z = x − y = 1.5·e₁ the mean is 21 %, 31 % and
// 40 % too large at d = 8, 16 and 64; at z = 1.5·(1, …, 1)/√d it is 5 %, 5 % and 2 %
// too small. The excess of the fourth moment decays by 1 − (d+2)/(2d(d−1)) a
// rotation, so Rotations(4·d·log₂ d) makes it about d^(−2.9) of what it is at N = 0.
//
// Cost: N angles a block; Project takes 6N operations a row and block,
// O(n·m·log d) for m ≥ d, and never forms W. It returns an error if m < 1,
// d < 1, m, d or N is too large for memory, src is nil, an option other than
// FixedLength and Rotations is given, or Rotations is given for d = 1.
//
// Source: [Choromanski et al. 2018].
func Givens[T dense.Float](m, d int, src rand.Source, opts ...Option) (Projection[T], error) {
	s, err := configure("Givens", m, d, src, opts, fixedLength, rotations)
	if err != nil {
		return nil, err
	}
	law := Ensemble{Kind: GivensProduct, FixedLength: s.fixed, Factors: s.rotations, Order: d}
	if law.Factors == 0 {
		// An int of 32 bits does not count the rotations of every d.
		law.Factors = int(math.Min(math.Ceil(float64(d)*math.Log2(float64(d))), limit.Repeats))
	}
	if err := limit.Memory[planerot.Turn[T]](blocksOf(m, d), law.Factors); err != nil {
		return nil, fmt.Errorf("orf: m = %d, d = %d, Rotations(%d): %w", m, d, law.Factors, err)
	}
	length := lengths(s.fixed, src)
	signed := func(d int) float64 {
		return math.Copysign(length(d), float64(src.Uint64()>>63)-0.5)
	}
	return stack(m, d, law, src, signed, func() (operator[T], error) {
		p, err := givens.Random[T](d, law.Factors, src)
		return turned[T]{p}, err
	})
}
