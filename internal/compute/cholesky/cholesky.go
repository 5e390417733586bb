// Package cholesky factorises symmetric positive definite matrices without the BLAS of gonum.
package cholesky

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

const tile = 128

// Factor is the factorisation A = RᵀR of a symmetric positive definite n×n matrix, R upper
// triangular, in blocks of tile rows. Factor never changes, and goroutines may share it.
type Factor struct {
	// zero below the blocks on the diagonal, and unspecified below the diagonal of a block
	r      dense.Matrix[float64]
	diag   []triangular.Factor[float64]
	LogDet float64 // log det A
}

// Solve replaces W (n×k) by A⁻¹·W.
func (c *Factor) Solve(w dense.Matrix[float64]) {
	c.Half(context.Background(), w)
	c.OtherHalf(w)
}

// New factorises the matrix with the upper triangle a, in the memory of a. The error
// reports a matrix that is not positive definite to rounding, and the end of ctx.
func New(ctx context.Context, a dense.Matrix[float64]) (*Factor, error) {
	n := a.Rows
	c := newFactor(a)
	for i := range c.diag {
		lo, hi := i*tile, min((i+1)*tile, n)
		block := a.RowRange(lo, hi).ColRange(lo, hi)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := factorise(block, lo); err != nil {
			return nil, err
		}
		c.keep(i, block)
		if hi == n {
			break
		}
		right := a.RowRange(lo, hi).ColRange(hi, n)
		c.diag[i].Solve(right)
		subtractSquare(ctx, a.RowRange(hi, n).ColRange(hi, n), right)
	}
	return c, nil
}

func (c *Factor) keep(i int, block dense.Matrix[float64]) {
	pivots := make([]float64, block.Rows)
	for j := range pivots {
		pivots[j] = block.At(j, j)
		c.LogDet += 2 * math.Log(pivots[j])
	}
	c.diag[i].Set(dense.Transpose(dense.Matrix[float64]{}, block), pivots)
}

func newFactor(r dense.Matrix[float64]) *Factor {
	return &Factor{r: r, diag: make([]triangular.Factor[float64], (r.Rows+tile-1)/tile)}
}

func (c *Factor) keepAll() {
	for i := range c.diag {
		lo, hi := i*tile, min((i+1)*tile, c.r.Rows)
		c.keep(i, c.r.RowRange(lo, hi).ColRange(lo, hi))
	}
}

// subtractSquare subtracts the upper triangle of PᵀP from A in tiles, until ctx ends.
func subtractSquare(ctx context.Context, a, p dense.Matrix[float64]) {
	bands := (a.Rows + tile - 1) / tile
	parallel.Pieces(bands*(bands+1)/2, func(i int) {
		if ctx.Err() != nil {
			return
		}
		j := 0
		for i > j {
			j++
			i -= j
		}
		rows, cols := p.ColRange(i*tile, min((i+1)*tile, a.Rows)), p.ColRange(j*tile, min((j+1)*tile, a.Rows))
		to := a.RowRange(i*tile, i*tile+rows.Cols).ColRange(j*tile, j*tile+cols.Cols)
		matmul.TMul(-1, rows, cols, 1, to)
	})
}

// factorise replaces the upper triangle of a by R. The error counts rows from at.
func factorise(a dense.Matrix[float64], at int) error {
	for i := range a.Rows {
		row := a.Row(i)
		for l := range i {
			from := a.Row(l)[i:]
			vecmath.AddScaled(row[i:], from, -from[0])
		}
		if !(row[i] > 0) || math.IsInf(row[i], 0) {
			return fmt.Errorf("pivot %d is %.3g, want a positive number", at+i, row[i])
		}
		pivot := math.Sqrt(row[i])
		row[i] = pivot
		vecmath.Scale(row[i+1:], 1/pivot)
	}
	return nil
}

// Half replaces W (n×k) by R⁻ᵀ·W. If ctx ends, only some rows are replaced.
func (c *Factor) Half(ctx context.Context, w dense.Matrix[float64]) { c.halfFrom(ctx, 0, w) }

// halfFrom is Half for a W whose rows before block first are zero.
func (c *Factor) halfFrom(ctx context.Context, first int, w dense.Matrix[float64]) {
	n := c.r.Rows
	for i := range interrupt.Ranges(ctx, len(c.diag)-first, 1) {
		i += first
		lo, hi := i*tile, min((i+1)*tile, n)
		block := w.RowRange(lo, hi)
		if i > first {
			matmul.TMul(-1, c.r.RowRange(first*tile, lo).ColRange(lo, hi), w.RowRange(first*tile, lo), 1, block)
		}
		c.diag[i].Solve(block)
	}
}

// OtherHalf replaces W by R⁻¹·W. After Half, this is A⁻¹·W.
func (c *Factor) OtherHalf(w dense.Matrix[float64]) {
	n := c.r.Rows
	for i := len(c.diag) - 1; i >= 0; i-- {
		lo, hi := i*tile, min((i+1)*tile, n)
		block := w.RowRange(lo, hi)
		if hi < n {
			matmul.Mul(-1, c.r.RowRange(lo, hi).ColRange(hi, n), w.RowRange(hi, n), 1, block)
		}
		c.diag[i].SolveTransposed(block)
	}
}

// Invert calls f concurrently with groups of columns of R⁻ᵀ that begin with column lo. Rows before
// lo are zero. The error is the error of ctx.
func (c *Factor) Invert(ctx context.Context, f func(lo int, columns dense.Matrix[float64])) error {
	n := c.r.Rows
	parallel.Pieces(len(c.diag), func(i int) {
		if ctx.Err() != nil {
			return
		}
		lo, hi := i*tile, min((i+1)*tile, n)
		w := dense.New[float64](n, hi-lo)
		for j := range hi - lo {
			w.Set(lo+j, j, 1)
		}
		c.halfFrom(ctx, i, w)
		f(lo, w)
	})
	return ctx.Err()
}
