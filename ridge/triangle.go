package ridge

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// tile is the order of the tiles that a triangle is made of. A tile and the columns that it is
// summed from stay in the second cache.
const tile = 128

// triangle is the lower triangle of a symmetric n×n matrix, summed in float64. Rows are stored in
// bands of tile rows; a band ends with the tile on the diagonal. What a diagonal tile holds above
// the diagonal is not read.
type triangle struct {
	n    int
	data []float64
}

// newTriangle returns the triangle of zeros.
func newTriangle(n int) triangle {
	bands := (n + tile - 1) / tile
	return triangle{n, make([]float64, start(bands))}
}

// checkTriangle returns an error if a triangle of order n does not fit the memory of the machine.
func checkTriangle(n int) error { return limit.Memory[float64](n, n/2+tile) }

// start returns the number of elements of the bands before band i.
func start(i int) int { return tile * tile * (i * (i + 1) / 2) }

// band returns rows i·tile ≤ r < (i+1)·tile, up to the tile on the diagonal.
func (t triangle) band(i int) dense.Matrix[float64] {
	width := (i + 1) * tile
	rows := min(tile, t.n-i*tile)
	return dense.Matrix[float64]{Rows: rows, Cols: width, Data: t.data[start(i):], Stride: width}
}

// row returns the elements (r, 0) … (r, r).
func (t triangle) row(r int) []float64 {
	return t.band(r / tile).Row(r % tile)[:r+1]
}

// add adds f times the triangle o to t.
func (t triangle) add(f float64, o triangle) {
	parallel.Rows(len(t.data), 1<<15, func(lo, hi int) {
		to, from := t.data[lo:hi], o.data[lo:hi]
		for i, v := range from {
			to[i] += f * v
		}
	})
}

// addSquare adds the triangle of PᵀP (k×n) to t. Products are summed in T over the k rows, and the
// sums are added in float64.
func addSquare[T dense.Float](t triangle, p dense.Matrix[T]) {
	u := pool.Get[update[T]](&updates)
	*u = update[T]{t: t, p: p}
	parallel.Do(u.pieces((t.n+tile-1)/tile), u)
	*u = update[T]{}
	pool.Put(&updates, u)
}

// update is the task that adds the triangle of PᵀP to t. A piece is up to wide tiles of a band.
type update[T dense.Float] struct {
	t triangle
	p dense.Matrix[T]
}

// wide is the number of tiles that share copies of the rows of Pᵀ.
const wide = 2

// pieces returns the number of pieces of the bands before band i.
func (u *update[T]) pieces(i int) int {
	whole, rest := i/wide, i%wide
	return wide*(whole*(whole+1)/2) + rest*(whole+1)
}

// Piece adds piece number piece, counted along the bands.
func (u *update[T]) Piece(piece int) {
	i := 0
	for u.pieces(i+1) <= piece {
		i++
	}
	from := (piece - u.pieces(i)) * wide * tile
	to := min(from+wide*tile, (i+1)*tile, u.t.n)
	left, right := u.p.ColRange(i*tile, min((i+1)*tile, u.t.n)), u.p.ColRange(from, to)
	dst := u.t.band(i).ColRange(from, to)
	if left, ok := any(left).(dense.Matrix[float64]); ok {
		matmul.TMul(1, left, any(right).(dense.Matrix[float64]), 1, dst)
		return
	}
	s := pool.Get[[wide * tile * tile]T](&tiles)
	sum := dense.Matrix[T]{Rows: dst.Rows, Cols: dst.Cols, Data: s[:], Stride: wide * tile}
	matmul.TMul(1, left, right, 0, sum)
	addTo(dst, sum)
	pool.Put(&tiles, s)
}

var (
	updates pool.Both[update[float32], update[float64]]
	tiles   pool.Both[[wide * tile * tile]float32, [wide * tile * tile]float64]
)

// addTo adds x to y, which has the same shape.
func addTo[T dense.Float](y dense.Matrix[float64], x dense.Matrix[T]) {
	for i := range y.Rows {
		to := y.Row(i)
		for j, v := range x.Row(i) {
			to[j] += float64(v)
		}
	}
}
