package orf

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Hadamard is the law of structured orthogonal random features (SORF), in blocks of d': the rows,
// in random order, of a product of k factors (1/√d')·H·D_i, where D_i has random signs on its
// diagonal, times independent lengths from χ(d'). H is a Hadamard matrix of order d' =
// hadamard.FastOrder(d), and W is d columns of the frequencies of R^d'. The last block has m mod d'
// rows when d' does not divide m.
//
// W is orthogonal in each block when d = d', and every frequency has mean zero and covariance I.
// Frequencies are not exactly Gaussian: for k = 3 and the Gaussian kernel at x − y = 1.5·e₁ the
// bias is −4 % at d = 8, −0.9 % at d = 16, and nothing measurable at d = 64. With k = 1 the bias is
// large for sparse x − y at every d.
//
// Cost: k·d' random bits per block; Project applies k transforms of order d' to a row for each
// block, O(n·m·log d) operations for m ≥ d', and never forms W. Sources: [Yu et al. 2016],
// [Choromanski et al. 2017].
type Hadamard struct {
	// FixedLength gives frequencies of R^d' the length √d', which biases kernels: docs/frequencies.md.
	FixedLength bool

	// Factors is the number k of factors of a block's product. Zero means 3. A negative number is
	// an error.
	Factors int
}

func (Hadamard) ensemble() {}

// String returns Hadamard, with the fields that are not zero in parentheses.
func (e Hadamard) String() string {
	return describe("Hadamard", e.FixedLength, "Factors", e.Factors)
}

func hadamardProduct[T dense.Float](e Hadamard, m, d int, src rand.Source) (Projection[T], error) {
	if e.Factors < 0 {
		return nil, fmt.Errorf("orf: Hadamard.Factors = %d, want at least 1, or 0 for 3", e.Factors)
	}
	e.Factors = cmp.Or(e.Factors, 3) // as in hadamard.RotationOptions
	order := hadamard.FastOrder(d)
	if err := limit.Memory[T](blocksOf(m, order), e.Factors, order); err != nil {
		return nil, fmt.Errorf("orf: m = %d, d = %d, Hadamard.Factors = %d: %w", m, d, e.Factors, err)
	}
	return stack(m, d, order, e, src, lengths(e.FixedLength, src), func() (operator[T], error) {
		return hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: e.Factors, Order: order}, src)
	})
}
