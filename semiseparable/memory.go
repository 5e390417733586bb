package semiseparable

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

func extend[E any](x []E, n int) []E {
	if n > cap(x) {
		x = append(x[:cap(x)], make([]E, n-cap(x))...)
	}
	return x[:n]
}

// touch reads an element of every cache line of x, so that x is in a cache when a product reads x.
// A product reads many rows at a time, and the processor does not prefetch such reads.
//
//go:noinline
func touch[T dense.Float](x dense.Matrix[T]) T {
	const line = 64
	var sum T
	step := line / int(unsafe.Sizeof(sum))
	for i := 0; i < len(x.Data); i += step {
		sum += x.Data[i]
	}
	return sum
}

var (
	passes     pool.Pair[solvePass[float32], solvePass[float64]]
	inversions pool.Pair[inversion[float32], inversion[float64]]
	pieces     pool.Pair[inverseColumns[float32], inverseColumns[float64]]
	factors    pool.Pair[triangular.Scratch[float32], triangular.Scratch[float64]]
)
