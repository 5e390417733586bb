package index

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
)

// Held returns the number of rows in memory, with deleted rows.
func Held[K ID, T dense.Float](x Index[K, T]) int { return len(x.(*index[K, T]).now.Load().ids) }

// Quantiser returns the quantiser of the codes.
func Quantiser[K ID, T dense.Float](x Index[K, T]) quantise.Quantiser[T] {
	return x.(*index[K, T]).now.Load().codes.Quantiser()
}
