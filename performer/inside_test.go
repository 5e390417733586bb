package performer

import "github.com/seed-feabd252/randfeat/dense"

// inside returns what stands behind a Linear.
func inside[T dense.Float](a Linear[T]) *linear[T] { return a.(*linear[T]) }
