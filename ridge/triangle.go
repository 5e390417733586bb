package ridge

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// tile is the number of rows of a band and the order of the blocks of a factorisation.
const tile = 128

// triangle is the lower triangle of a symmetric n×n matrix. triangle stores bands of tile rows,
// which end with a block of order tile on the diagonal. The elements of this block above the
// diagonal are unspecified.
type triangle struct {
	n     int
	data  []float64
	bands []dense.Matrix[float64]
}

// newTriangle returns a triangle of zeros.
func newTriangle(n int) triangle {
	bands := (n + tile - 1) / tile
	return overBands(n, make([]float64, start(bands)))
}

// overBands returns the triangle with the elements data.
func overBands(n int, data []float64) triangle {
	t := triangle{n: n, data: data}
	for i := 0; i*tile < n; i++ {
		width := (i + 1) * tile
		t.bands = append(t.bands, dense.Matrix[float64]{
			Rows: min(tile, n-i*tile), Cols: min(width, n), Data: data[start(i):start(i+1)], Stride: width,
		})
	}
	return t
}

// checkTriangle returns an error if memory cannot hold a triangle of order n.
func checkTriangle(n int) error { return limit.Memory[float64](n, n/2+tile) }

// start returns the number of elements of the bands before band i.
func start(i int) int { return tile * tile * (i * (i + 1) / 2) }

// row returns the elements (r, 0) … (r, r).
func (t triangle) row(r int) []float64 { return t.bands[r/tile].Row(r % tile)[:r+1] }

// addSquare adds the lower triangle of PᵀP.
func (t triangle) addSquare(p dense.Matrix[float64]) { matmul.AddSquare(p, tile, t.bands) }
