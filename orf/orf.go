package orf

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// Projection is a set of frequencies W ∈ R^{m×d} that can be applied. It never
// changes after construction and may be shared by goroutines.
type Projection[T dense.Float] interface {
	// Dims returns the number of frequencies m and the input dimension d.
	Dims() (m, d int)

	// Project writes XWᵀ (n×m) for the rows of x (n×d) into dst and returns
	// it; a zero dst is allocated. dst must not overlap x. It panics if a
	// shape does not fit.
	Project(dst, x dense.Matrix[T]) dense.Matrix[T]

	// Frequencies returns W (m×d), a fresh copy.
	Frequencies() dense.Matrix[T]
}

// Constructor draws the m frequencies of a projection of R^d from src. IID,
// GramSchmidt, Hadamard and Givens become one with their options bound.
type Constructor[T dense.Float] func(m, d int, src rand.Source) (Projection[T], error)
