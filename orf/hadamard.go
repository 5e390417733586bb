package orf

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Hadamard is the law of frequencies of structured orthogonal random features (SORF), in blocks of
// d': the rows, in random order, of a product of k factors (1/√d')·H·D_i of a Hadamard matrix H and
// a diagonal matrix D_i of random signs, times independent lengths from the χ law of d' degrees of
// freedom. The order d' of the Hadamard matrix is hadamard.FastOrder(d), and frequencies of R^d are
// d coordinates of those of R^d'. The last block of m frequencies has m mod d' if that is not 0.
//
// The frequencies of a block are orthogonal if the order d' is d, and every frequency has mean zero
// and covariance I. Frequencies are not exactly Gaussian: with k = 3 factors, estimates of the
// Gaussian kernel at x − y = 1.5·e₁ have a bias of −4 % for d = 8, −0.9 % for d = 16, and nothing
// measurable for d = 64. With k = 1 factor the bias is large for sparse x − y at every d.
//
// Drawing takes k·d' random bits per block. Project applies k transforms of order d' to a point for
// each block, O(n·m·log d) operations for n points and m ≥ d' frequencies, and never forms the
// matrix of frequencies. Sources: [Yu et al. 2016], [Choromanski et al. 2017].
type Hadamard struct {
	// FixedLength gives every frequency the length √d' in R^d', before d coordinates are taken,
	// which biases estimates of kernels, as docs/frequencies.md shows.
	FixedLength bool

	// Factors is the number k of factors in the product for a block of frequencies. Zero means 3.
	// Draw returns an error for negative Factors.
	Factors int
}

func (Hadamard) ensemble() {}

// String returns "Hadamard", followed by the fields that are not zero in parentheses.
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
