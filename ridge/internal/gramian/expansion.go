package gramian

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/kernels"
)

const (
	// TileRows is the number of rows of a tile, whose values stay in a cache.
	TileRows = 64
	// BlockRows is the largest number of columns of a tile.
	BlockRows = 1024
)

// Expansion is the functions Σ_i a_i·k(x, x_i) of rows x_i, and never changes.
type Expansion struct {
	Weights dense.Matrix[float64] // a, a row for each x_i
	given   kernels.Kernel
	kernel  kernels.Kernel // of the images of rows
	origin  []float64
	rows    *Points[float64]
}

func NewExpansion(k kernels.Kernel, x, a dense.Matrix[float64]) *Expansion {
	kernel, own := Images(k, x)
	origin := Medians(own)
	return &Expansion{a, k, kernel, origin, NewPoints[float64](kernel, own, origin)}
}

// Add adds the functions at the rows of x to the rows of dst. It takes float64, because weights of
// a small λ are large and cancel. A row that is not finite has the sum NaN.
func (e *Expansion) Add(dst, x dense.Matrix[float64]) {
	_, other := Images(e.given, x)
	xs := NewPoints[float64](e.kernel, other, e.origin)
	n := e.Weights.Rows
	parallel.Rows(x.Rows, TileRows, func(lo, hi int) {
		t := pool.Get[Tile[float64]](&Tiles)
		defer pool.Put(&Tiles, t)
		for from := 0; from < n; from += BlockRows {
			to := min(from+BlockRows, n)
			y := e.rows.Rows(from, to)
			t.Begin(y)
			matmul.MulInPlace(1, t.Fill(e.kernel, xs.Rows(lo, hi), y), e.Weights.RowRange(from, to), 1, dst.RowRange(lo, hi))
		}
	})
	for i := range x.Rows {
		if slices.ContainsFunc(x.Row(i), func(v float64) bool { return v-v != 0 }) {
			row := dst.Row(i)
			for j := range row {
				row[j] = math.NaN()
			}
		}
	}
}

// Unlike means, medians hardly depend on a row that is far away.
func Medians(x dense.Matrix[float64]) []float64 {
	middle, columns := make([]float64, x.Cols), dense.Transpose(dense.Matrix[float64]{}, x)
	for j := range middle {
		slices.Sort(columns.Row(j))
		middle[j] = columns.At(j, x.Rows/2)
	}
	return middle
}

// Images returns a kernel that is no Pullback, and rows with the Gram matrix of k on x.
func Images(k kernels.Kernel, x dense.Matrix[float64]) (kernels.Kernel, dense.Matrix[float64]) {
	for {
		pullback, ok := k.(kernels.Pullback)
		if !ok {
			return k, x
		}
		moved := dense.New[float64](x.Rows, pullback.A.Rows)
		for i := range x.Rows {
			copy(moved.Row(i), pullback.At(x.Row(i)))
		}
		k, x = pullback.K, moved
	}
}
