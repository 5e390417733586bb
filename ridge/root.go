package ridge

import (
	"context"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// root is a matrix B with BᵀB = A⁻¹: R⁻ᵀ for the factorisation A = RᵀR, or S rows x ~ N(0, A⁻¹)/√S.
type root struct {
	width   int       // D, the number of columns of B
	samples int       // S, or 0 for R⁻ᵀ
	data    []float64 // the rows of B; of R⁻ᵀ the lower triangle
}

func newRoot(ctx context.Context, f *cholesky.Factor, width int) (root, error) {
	b := root{width: width, data: make([]float64, width*(width+1)/2)}
	err := f.Invert(ctx, func(lo int, columns dense.Matrix[float64]) {
		for i := lo; i < width; i++ {
			copy(b.row(i)[lo:], columns.Row(i)[:min(columns.Cols, i+1-lo)])
		}
	})
	return b, err
}

func (b root) rows() int {
	if b.samples > 0 {
		return b.samples
	}
	return b.width
}

// row returns row i of B. The elements after its end are 0.
func (b root) row(i int) []float64 {
	if b.samples > 0 {
		return b.data[i*b.width : (i+1)*b.width]
	}
	return b.data[i*(i+1)/2:][:i+1]
}

// The bands, which begin with row lo, lack the columns that are 0 in all of their rows.
func (b root) bands(f func(lo int, band dense.Matrix[float64])) {
	space := bandSpaces.Get()
	defer bandSpaces.Put(space)
	for lo := 0; lo < b.rows(); lo += tile {
		hi := min(lo+tile, b.rows())
		space.Shape(hi-lo, len(b.row(hi-1)))
		band := space.Rows(hi - lo)
		for i := range band.Rows {
			to := band.Row(i)
			clear(to[copy(to, b.row(lo+i)):])
		}
		f(lo, band)
	}
}

var bandSpaces pool.Of[scratch.Buffer[float64]]

// times writes Bx into column i of v for the row x of index i of x.
func (b root) times(v, x dense.Matrix[float64]) {
	b.bands(func(lo int, band dense.Matrix[float64]) {
		matmul.MulT(1, band, x.ColRange(0, band.Cols), 0, v.RowRange(lo, lo+band.Rows))
	})
}

func (b root) transposed(v dense.Matrix[float64]) dense.Matrix[float64] {
	w := dense.New[float64](b.width, v.Cols)
	b.bands(func(lo int, band dense.Matrix[float64]) {
		matmul.TMul(1, band, v.RowRange(lo, lo+band.Rows), 1, w.RowRange(0, band.Cols))
	})
	return w
}

func (b root) diagonal() []float64 {
	diagonal := make([]float64, b.width)
	for i := range b.rows() {
		for f, v := range b.row(i) {
			diagonal[f] += v * v
		}
	}
	return diagonal
}

func (b root) variances(x dense.Matrix[float64]) []float64 {
	variances := make([]float64, x.Rows)
	if x.Rows == 1 {
		variances[0] = b.variance(x.Row(0))
		return variances
	}
	space := bandSpaces.Get()
	defer bandSpaces.Put(space)
	b.bands(func(_ int, band dense.Matrix[float64]) {
		space.Shape(band.Rows, x.Rows)
		v := space.Rows(band.Rows)
		matmul.MulT(1, band, x.ColRange(0, band.Cols), 0, v)
		for f := range v.Rows {
			for i, e := range v.Row(f) {
				variances[i] += e * e
			}
		}
	})
	return variances
}

// variance reads each row of B once, on all processors.
func (b root) variance(x []float64) float64 {
	squares := make([]float64, (b.rows()+tile-1)/tile)
	parallel.Pieces(len(squares), func(band int) {
		for i := band * tile; i < min((band+1)*tile, b.rows()); i++ {
			row := b.row(i)
			v := vecmath.Dot(row, x[:len(row)])
			squares[band] += v * v
		}
	})
	sum := 0.0
	for _, v := range squares {
		sum += v
	}
	return sum
}
