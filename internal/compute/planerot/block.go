package planerot

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

type kernels[T Float] struct {
	lanes int // elements of a vector
	// turn[v-1] applies count rotations to a block with v vectors for each coordinate. Rotations
	// are step bytes apart. Its axes are i and j bytes from its beginning.
	turn [mostVectors]func(block *T, turns *int32, count, step, i, j int)
	// enter writes cols columns of the rows of x, at most lanes rows, into the vectors at block +
	// j·step. It fills up to a multiple of lanes. leave writes the columns back.
	enter, leave func(block *T, step int, x *T, stride, rows, cols int)
}

var best32, best64 = kernels32[simd.Best], kernels64[simd.Best]

func best[T Float]() *kernels[T] { return simd.Of[kernels[T], T](best32, best64) }

const (
	// mostVectors is the largest number of vectors of a coordinate that are rotated together.
	// Successive rotations of a coordinate wait for each other, but its vectors do not.
	mostVectors = 4
	// blockBytes is the size from which a block has fewer vectors to a coordinate.
	blockBytes = 1 << 23
)

// vectors returns the largest number of vectors of a coordinate in a block, for rows of d elements.
func (k *kernels[T]) vectors(d int) int {
	return min(mostVectors, max(1, blockBytes/k.elements(d, 1)/simd.Size[T]()))
}

func (k *kernels[T]) elements(d, vectors int) int {
	squares := (d + k.lanes - 1) / k.lanes
	return max(1, squares) * k.lanes * k.lanes * vectors
}

func (k *kernels[T]) rows(dst, x dense.Matrix[T], turns []Turn[T], inverse bool) {
	vectors := k.vectors(x.Cols)
	block := pool.Get[[]T](&blocks)
	*block = cache.Aligned(*block, k.elements(x.Cols, vectors))
	for lo := 0; lo < x.Rows; lo += k.lanes * vectors {
		hi := min(lo+k.lanes*vectors, x.Rows)
		to, from := dst.RowRange(lo, hi), x.RowRange(lo, hi)
		// Vectors with one row are slower than pure Go.
		if hi-lo > 1 {
			k.group(*block, to, from, turns, inverse)
		} else {
			reference(to, from, turns, inverse)
		}
	}
	pool.Put(&blocks, block)
}

func (k *kernels[T]) group(block []T, dst, x dense.Matrix[T], turns []Turn[T], inverse bool) {
	bytes := simd.Size[T]()
	n, d := x.Rows, x.Cols
	vectors := (n + k.lanes - 1) / k.lanes
	next := vectors * k.lanes * bytes
	for v := range vectors {
		i := v * k.lanes
		k.enter(&block[i], next, &x.Data[i*x.Stride], x.Stride*bytes, min(n-i, k.lanes), d)
	}
	var g Turn[T]
	step, i, j := int(unsafe.Sizeof(g)), int(unsafe.Offsetof(g.I)), int(unsafe.Offsetof(g.J))
	first := &turns[0]
	if inverse {
		// Exchanging the axes is the inverse, with the same roundings.
		first, step, i, j = &turns[len(turns)-1], -step, j, i
	}
	k.turn[vectors-1](&block[0], &first.I, len(turns), step, i, j)
	for v := range vectors {
		i := v * k.lanes
		k.leave(&block[i], next, &dst.Data[i*dst.Stride], dst.Stride*bytes, min(n-i, k.lanes), d)
	}
}

var blocks pool.Pair[[]float32, []float64]
