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

// Epilogue works on parts of XWᵀ while they are in cache.
type Epilogue interface {
	// Finish is called once for every tile of dst, rows lo ≤ i < hi and columns
	// from ≤ j < to, when it is final, on the goroutine that has computed it. The
	// columns of a tile may be overwritten then.
	Finish(lo, hi, from, to int)
}

// Tiler is a Projection that hands over its results a tile at a time, so that they
// need not be read from memory again. The projections of this package are Tilers.
type Tiler[T dense.Float] interface {
	Projection[T]

	// ProjectTiles is Project into a dst that is n×m, and calls done.Finish for
	// every tile.
	ProjectTiles(dst, x dense.Matrix[T], done Epilogue)
}

// Constructor draws the m frequencies of a projection of R^d from src. Halton and
// Sobol are such; the others become one with their options bound.
type Constructor[T dense.Float] func(m, d int, src rand.Source) (Projection[T], error)
