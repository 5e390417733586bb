package ridge

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// tile is the number of rows of a band, and the order of the blocks of a factorisation.
const tile = 128

// triangle is the lower triangle of a symmetric n×n matrix. Rows are stored in bands of tile rows,
// which end with a block of order tile on the diagonal. What that block holds above the diagonal is
// not read.
type triangle[T dense.Float] struct {
	n     int
	data  []T
	bands []dense.Matrix[T]
}

// newTriangle returns the triangle of zeros.
func newTriangle[T dense.Float](n int) triangle[T] {
	bands := (n + tile - 1) / tile
	return overBands(n, make([]T, start(bands)))
}

// overBands returns the triangle in data.
func overBands[T dense.Float](n int, data []T) triangle[T] {
	t := triangle[T]{n: n, data: data}
	for i := 0; i*tile < n; i++ {
		width := (i + 1) * tile
		t.bands = append(t.bands, dense.Matrix[T]{
			Rows: min(tile, n-i*tile), Cols: min(width, n), Data: data[start(i):start(i+1)], Stride: width,
		})
	}
	return t
}

// checkTriangle returns an error if a triangle of order n does not fit the memory of the machine.
func checkTriangle(n int) error { return limit.Memory[float64](n, n/2+tile) }

// start returns the number of elements of the bands before band i.
func start(i int) int { return tile * tile * (i * (i + 1) / 2) }

// row returns the elements (r, 0) … (r, r).
func (t triangle[T]) row(r int) []T { return t.bands[r/tile].Row(r % tile)[:r+1] }

// clone returns a copy of t.
func (t triangle[T]) clone() triangle[T] {
	return overBands(t.n, append([]T(nil), t.data...))
}

// addSquare adds the triangle of PᵀP, with sums over the rows of P in T.
func (t triangle[T]) addSquare(p dense.Matrix[T]) { matmul.AddSquare(p, tile, t.bands) }

// add adds f times the triangle o to t.
func add[T dense.Float](t triangle[float64], f float64, o triangle[T]) {
	parallel.Rows(len(t.data), 1<<15, func(lo, hi int) {
		to, from := t.data[lo:hi], o.data[lo:hi]
		for i, v := range from {
			to[i] += f * float64(v)
		}
	})
}
