package rff

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// WeightLaw is the law of the coordinates of random vectors w. Sketches of dot-product kernels
// multiply projections wᵀx. All laws have E[w·wᴴ] = I.
//
// The laws differ in the variance of the estimate, which PolynomialSketch states. The variance with
// Rademacher weights is below the variance with Gaussian weights. At the same number m of real
// features the variance of a complex law is at most the variance of the real law, by convexity: for
// Gaussian weights always, for Rademacher weights if Σ x_i²y_i² ≤ (xᵀy)², for example if no product
// x_i·y_i is negative [Wacker, Kanagawa & Filippone 2024], [Wacker, Ohana & Filippone 2023].
type WeightLaw int

const (
	// RademacherWeights are ±1 with probability ½ each.
	RademacherWeights WeightLaw = iota
	// GaussianWeights are N(0, 1).
	GaussianWeights
	// ComplexRademacherWeights are 1, −1, i or −i with probability ¼ each.
	ComplexRademacherWeights
	// ComplexGaussianWeights are (u + iv)/√2 with independent u, v ~ N(0, 1).
	ComplexGaussianWeights
)

// String returns the name as it is written in Go.
func (l WeightLaw) String() string {
	if l < RademacherWeights || l > ComplexGaussianWeights {
		return fmt.Sprintf("WeightLaw(%d)", int(l))
	}
	return [...]string{
		"RademacherWeights", "GaussianWeights", "ComplexRademacherWeights", "ComplexGaussianWeights",
	}[l]
}

// validate reports an unknown law, and an odd m for a complex law.
func (l WeightLaw) validate(m int) error {
	if l < RademacherWeights || l > ComplexGaussianWeights {
		return fmt.Errorf("rff: law = %v, want one of the four", l)
	}
	if l.complex() && m%2 != 0 {
		return fmt.Errorf("rff: m = %d, want an even number for %v", m, l)
	}
	return nil
}

// signs reports whether a weight is a random root of unity.
func (l WeightLaw) signs() bool { return l == RademacherWeights || l == ComplexRademacherWeights }

// complex reports whether a weight has an imaginary part.
func (l WeightLaw) complex() bool { return l >= ComplexRademacherWeights }

// parts returns the number of real numbers that make a weight.
func (l WeightLaw) parts() int {
	if l.complex() {
		return 2
	}
	return 1
}

// drawWeights returns n vectors of R^d or C^d, one a row, all real parts above all imaginary ones.
func drawWeights[T dense.Float](l WeightLaw, n, d int, src rand.Source) dense.Matrix[T] {
	w := dense.New[T](l.parts()*n, d)
	re := w.Data[:n*d]
	im := w.Data[n*d:]
	switch l {
	case RademacherWeights:
		var word uint64
		for i := range re {
			if i%64 == 0 {
				word = src.Uint64()
			}
			re[i] = T(1 - 2*int(word>>(i%64)&1))
		}
	case ComplexRademacherWeights:
		var word uint64
		for i := range re {
			if i%32 == 0 {
				word = src.Uint64()
			}
			pair := word >> (2 * (i % 32))
			sign := T(1 - 2*int(pair&1))
			if pair&2 == 0 {
				re[i] = sign
			} else {
				im[i] = sign
			}
		}
	case GaussianWeights:
		rng := rand.New(src)
		for i := range re {
			re[i] = T(rng.NormFloat64())
		}
	case ComplexGaussianWeights:
		rng := rand.New(src)
		for i := range re {
			re[i] = T(rng.NormFloat64() / math.Sqrt2)
			im[i] = T(rng.NormFloat64() / math.Sqrt2)
		}
	}
	return w
}
