package rff

import "github.com/seed-feabd252/randfeat/dense"

// MappedRows is the number of points whose norms an absorbed map keeps at a time.
const MappedRows = absorbedRows

// IsAbsorbed reports whether the frequencies of m have absorbed the matrix that maps its points.
func IsAbsorbed[T dense.Float](m Map[T]) bool {
	_, ok := m.(*absorbed[T])
	return ok
}
