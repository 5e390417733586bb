package clusters

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// nearest sets labels[i] to the number of the nearest of the centres to key i, and to 0 for a key
// that is not finite.
func nearest[T dense.Float](labels []int32, keys, centres dense.Matrix[T]) {
	t := pool.Get[labelling[T]](&labellings)
	t.labels, t.keys, t.centres, t.halves = labels, keys, centres, scratch.Resize(t.halves, centres.Rows)
	for i := range t.halves {
		t.halves[i] = T(vecmath.HalfSquaredNorm(centres.Row(i)))
	}
	parallel.Do((keys.Rows+labelKeys-1)/labelKeys, t)
	t.labels, t.keys, t.centres = nil, dense.Matrix[T]{}, dense.Matrix[T]{}
	pool.Put(&labellings, t)
}

const labelKeys = 256

var labellings pool.Pair[labelling[float32], labelling[float64]]

// labelling is the task of nearest. A piece is some keys.
type labelling[T dense.Float] struct {
	labels        []int32
	keys, centres dense.Matrix[T]
	halves        []T // of squared norms of the centres
}

func (t *labelling[T]) Piece(i int) {
	lo := i * labelKeys
	hi := min(lo+labelKeys, t.keys.Rows)
	n, c := hi-lo, t.centres.Rows
	b := pool.Get[block[T]](&blocks)
	matmul.PackT(&b.packed, t.keys.RowRange(lo, hi))
	b.weights.Shape(c, n)
	products := b.weights.Rows(c)
	matmul.MulPacked(1, t.centres, &b.packed, 0, products, nil)
	b.peaks, b.shifts = scratch.Resize(b.peaks, n), scratch.Resize(b.shifts, n)
	for j := range n {
		b.peaks[j], b.shifts[j] = T(math.Inf(-1)), 0
	}
	vecmath.Highest(b.peaks, b.shifts, products.Data, products.Stride, t.halves, c)
	for j, l := range b.shifts {
		t.labels[lo+j] = int32(l)
	}
	pool.Put(&blocks, b)
}
