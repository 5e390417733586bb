package semiseparable

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/triangular"
)

// ring holds some numbers for each of the steps at hand.
type ring[T dense.Float] struct {
	count, size int
	data        []T
}

func (r *ring[T]) resize(count, size int) {
	r.count, r.size = count, size
	r.data = resize(r.data, count*size)
}

// at returns the numbers of a step.
func (r *ring[T]) at(step int) []T { return r.data[step%r.count*r.size:][:r.size] }

// resize returns n elements of any values, those of x if it has as many.
func resize[T dense.Float](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// touch reads a number of every cache line of x, so that x is in a cache when a product
// reads many rows at a time, from which a processor does not guess what comes next.
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

// Working memory of all calls.
var (
	sweeps     pool.Both[sweep[float32], sweep[float64]]
	inversions pool.Both[inversion[float32], inversion[float64]]
	pieces     pool.Both[columns[float32], columns[float64]]
	factors    pool.Both[triangular.Scratch[float32], triangular.Scratch[float64]]
)
