package orf

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/compute/planerot"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Givens is the law of frequencies in blocks of d: a block is the rows, in random order, of a
// product of N random plane rotations of R^d, each row times a random sign and a random length from
// the χ law of d degrees of freedom [Choromanski et al. 2018]. If d does not divide m, the last
// block has m mod d frequencies. The frequencies of one block of Givens are orthogonal, and every
// frequency has mean zero and covariance I.
//
// With the default number of plane rotations, the mean estimate of the Gaussian kernel by Givens is
// up to 40 % too large where x − y lies along an axis of R^d, and 2 to 5 % too small for x − y =
// 1.5·(1, …, 1)/√d. For a point and a block of N plane rotations, Project takes 6N operations, by
// default O(log d) for each frequency of full blocks.
type Givens struct {
	// FixedLength gives frequencies of R^d length √d, which biases estimates of Gaussian kernels.
	FixedLength bool

	// Rotations is the number of plane rotations in a product; zero means ⌈d·log₂ d⌉ for R^d. Draw
	// returns an error for Rotations < 0, and for Rotations > 0 in R¹.
	Rotations int
}

func (Givens) ensemble() {}

// String returns "Givens", followed in parentheses by the fields of e that are not zero.
func (e Givens) String() string {
	return describe("Givens", e.FixedLength, "Rotations", e.Rotations)
}

func givensProduct[T dense.Float](e Givens, m, d int, src rand.Source) (Projection[T], error) {
	if e.Rotations < 0 {
		return nil, fmt.Errorf("orf: Givens.Rotations = %d, want at least 1, or 0 for ⌈d·log₂ d⌉", e.Rotations)
	}
	if e.Rotations == 0 {
		// An int of 32 bits does not count the rotations of every d.
		e.Rotations = int(math.Min(math.Ceil(float64(d)*math.Log2(float64(d))), limit.Repeats))
	}
	if err := limit.Memory[planerot.Turn[T]](blocksOf(m, d), e.Rotations); err != nil {
		return nil, fmt.Errorf("orf: m = %d, d = %d, Givens.Rotations = %d: %w", m, d, e.Rotations, err)
	}
	length := lengths(e.FixedLength, src)
	signed := func(d int) float64 {
		return math.Copysign(length(d), float64(src.Uint64()>>63)-0.5)
	}
	return stack(m, d, d, e, src, signed, func() (operator[T], error) {
		p, err := givens.RandomProduct[T](d, e.Rotations, src)
		return planar[T]{p}, err
	})
}
