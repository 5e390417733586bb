package index

import "github.com/seed-feabd252/randfeat/dense"

// Held returns the number of rows in memory, with deleted rows.
func Held[K ID, T dense.Float](x Index[K, T]) int { return len(x.(*index[K, T]).now.Load().ids) }
