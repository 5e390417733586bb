package ridge

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// tile is the number of rows of a band and the order of the blocks of a factorisation.
const tile = 128

// triangle is the lower triangle of a symmetric matrix in bands of tile rows, which end with a
// block of order tile on the diagonal, unspecified above the diagonal.
type triangle[E dense.Float] struct {
	n     int
	data  []E
	bands []dense.Matrix[E]
}

func newTriangle[E dense.Float](n int) triangle[E] {
	t := triangle[E]{n: n, data: make([]E, start((n+tile-1)/tile))}
	for i := 0; i*tile < n; i++ {
		width := (i + 1) * tile
		t.bands = append(t.bands, dense.Matrix[E]{
			Rows: min(tile, n-i*tile), Cols: min(width, n), Data: t.data[start(i):start(i+1)], Stride: width,
		})
	}
	return t
}

func start(i int) int { return tile * tile * (i * (i + 1) / 2) }

func (t triangle[E]) row(r int) []E { return t.bands[r/tile].Row(r % tile)[:r+1] }

func (t triangle[E]) addSquare(p dense.Matrix[E]) { matmul.AddSquare(p, tile, t.bands) }
