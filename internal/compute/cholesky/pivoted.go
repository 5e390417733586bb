package cholesky

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Pivoted is the factorisation A_PP ≈ RᵀR of a symmetric positive semi-definite n×n matrix whose
// rows and columns are in the order P.
type Pivoted struct {
	Order []int                 // P: row i of A_PP is row Order[i] of A
	R     dense.Matrix[float64] // Rank×n, upper triangular; zeros below the diagonal
	Rank  int
}

// Rounding returns n·2⁻⁵² times the largest element on the diagonal of the n×n matrix a, the
// tolerance of NewPivoted for an a whose elements are accurate to rounding.
func Rounding(a dense.Matrix[float64]) float64 {
	largest := 0.0
	for i := range a.Rows {
		largest = max(largest, math.Abs(a.At(i, i)))
	}
	return float64(a.Rows) * 0x1p-52 * largest
}

// NewPivoted factorises the matrix with the upper triangle a, in the memory of a. Each pivot is the
// largest element on the diagonal of the residual, until none exceeds tolerance. The error reports
// a residual that is larger elsewhere: A is not positive semi-definite. Cost: n²·Rank/2
// multiply-adds.
func NewPivoted(a dense.Matrix[float64], tolerance float64) (*Pivoted, error) {
	n := a.Rows
	p := &Pivoted{Order: make([]int, n)}
	left := make([]float64, n) // the diagonal of the residual
	for i := range n {
		p.Order[i], left[i] = i, a.At(i, i)
	}
	for lo := 0; lo == p.Rank && lo < n; lo += tile {
		hi := min(lo+tile, n)
		for ; p.Rank < hi; p.Rank++ {
			at := p.Rank
			for i := at; i < n; i++ {
				if left[i] > left[at] {
					at = i
				}
			}
			if !(left[at] > tolerance) {
				break
			}
			p.exchange(a, left, p.Rank, at)
			row := a.Row(p.Rank)[p.Rank:]
			for l := lo; l < p.Rank; l++ {
				from := a.Row(l)[p.Rank:]
				vecmath.AddScaled(row, from, -from[0])
			}
			row[0] = math.Sqrt(left[p.Rank])
			vecmath.Scale(row[1:], 1/row[0])
			for i, v := range row[1:] {
				left[p.Rank+1+i] -= v * v
			}
		}
		if p.Rank == lo {
			break
		}
		rest := a.RowRange(p.Rank, n).ColRange(p.Rank, n)
		subtractSquare(context.Background(), rest, a.RowRange(lo, p.Rank).ColRange(p.Rank, n))
	}
	for i := p.Rank; i < n; i++ {
		for j, v := range a.Row(i)[i:] {
			if !(math.Abs(v) <= 4*tolerance) {
				return nil, fmt.Errorf("the residual of elements %d and %d is %.3g, want at most %.3g in size", p.Order[i], p.Order[i+j], v, tolerance)
			}
		}
	}
	p.R = a.RowRange(0, p.Rank)
	for i := range p.Rank {
		clear(p.R.Row(i)[:i])
	}
	return p, nil
}

func (p *Pivoted) exchange(a dense.Matrix[float64], left []float64, i, j int) {
	if i == j {
		return
	}
	swap := func(x, y *float64) { *x, *y = *y, *x }
	p.Order[i], p.Order[j] = p.Order[j], p.Order[i]
	swap(&left[i], &left[j])
	swap(&a.Row(i)[i], &a.Row(j)[j])
	for l := range i {
		swap(&a.Row(l)[i], &a.Row(l)[j])
	}
	for l := i + 1; l < j; l++ {
		swap(&a.Row(i)[l], &a.Row(l)[j])
	}
	for l := j + 1; l < a.Cols; l++ {
		swap(&a.Row(i)[l], &a.Row(j)[l])
	}
}

// Factor returns the factorisation of the leading Rank rows and columns of A_PP.
func (p *Pivoted) Factor() *Factor {
	c := newFactor(p.R.ColRange(0, p.Rank))
	c.keepAll()
	return c
}
