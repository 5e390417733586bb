package iterative

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// nystroem is the preconditioner P = BBᵀ + ρI.
type nystroem struct {
	factor  dense.Matrix[float64] // B, D×r
	shift   float64               // ρ
	core    *mat.Cholesky         // of BᵀB + ρI
	logSize float64               // log det P
}

// sketch returns the preconditioner of the Nyström approximation BBᵀ of S from Y = SG, with a
// normal matrix G (D×rank), for λ = 0. The caller adds λ and calls prepare.
func (p *problem) sketch(ctx context.Context, rows operator, rank int, rng *rand.Rand) (*nystroem, error) {
	width := len(p.moments.mean)
	factor := dense.New[float64](width, rank)
	if rank == 0 {
		return p.remainder(factor), nil
	}
	g, y := factor, dense.New[float64](width, rank)
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	if err := rows.pass(ctx, y, g, false, nil); err != nil {
		return nil, err
	}
	rows.forget()
	squares := 0.0
	for _, v := range y.Data {
		squares += v * v
	}
	if squares-squares != 0 {
		return nil, fmt.Errorf("iterative: products of features have the sum of squares %v, want a finite number: scale the features", squares)
	}
	// Rounding may make S indefinite, so νI is added to S. ν is the rounding of T times the
	// Frobenius norm of S, which the norm of Y estimates.
	nu := p.unit * math.Sqrt(squares/float64(rank))
	products, own := dense.New[float64](rank, rank), dense.New[float64](rank, rank)
	for lo, hi := range interrupt.Ranges(ctx, rank, productColumns) {
		matmul.TMul(1, g.ColRange(lo, hi), y, 0, products.RowRange(lo, hi))
		matmul.TMul(1, g.ColRange(lo, hi), g, 0, own.RowRange(lo, hi))
	}
	for attempt := 0; ; attempt++ {
		if nu == 0 {
			factor = dense.New[float64](width, rank) // S is zero
			break
		}
		if attempt == 12 {
			return nil, errors.New("iterative: the sketch of the features is not positive definite: rows differ from pass to pass, or are no numbers")
		}
		symmetric := mat.NewSymDense(rank, nil)
		for i := range rank {
			for j := range i + 1 {
				symmetric.SetSym(i, j, (products.At(i, j)+products.At(j, i))/2+nu*own.At(i, j))
			}
		}
		var cholesky mat.Cholesky
		var inverse mat.TriDense
		definite := false
		if err := interrupt.Await(ctx, func() {
			if cholesky.Factorize(symmetric) {
				upper := mat.NewTriDense(rank, mat.Upper, nil)
				cholesky.UTo(upper)
				definite = inverse.InverseTri(upper) == nil
			}
		}); err != nil {
			return nil, err
		}
		if !definite {
			nu *= 8
			continue
		}
		for i := range y.Data {
			y.Data[i] += nu * g.Data[i]
		}
		c := gonum.FromMat[float64](&inverse)
		for lo, hi := range interrupt.Ranges(ctx, width, 1024) {
			matmul.Mul(1, y.RowRange(lo, hi), c, 0, factor.RowRange(lo, hi)) // in the memory of G
		}
		break
	}
	return p.remainder(factor), ctx.Err()
}

// productColumns is the number of columns of a product between two checks of the context.
const productColumns = 64

// remainder returns the preconditioner BBᵀ + ρI for λ = 0, before prepare. ρ makes the trace of P
// equal to the trace of S.
func (p *problem) remainder(b dense.Matrix[float64]) *nystroem {
	left := p.moments.trace
	for _, v := range b.Data {
		left -= v * v
	}
	n := &nystroem{factor: b}
	if b.Cols < b.Rows {
		n.shift = max(0, left) / float64(b.Rows-b.Cols)
	}
	return n
}

// prepare factorises BᵀB + ρI, for solve. prepare returns early if ctx ends.
func (p *nystroem) prepare(ctx context.Context) error {
	width, rank := p.factor.Rows, p.factor.Cols
	p.logSize = float64(width-rank) * math.Log(p.shift)
	if rank == 0 {
		return nil
	}
	core := dense.New[float64](rank, rank)
	for lo, hi := range interrupt.Ranges(ctx, rank, productColumns) {
		matmul.TMul(1, p.factor.ColRange(lo, hi), p.factor, 0, core.RowRange(lo, hi))
	}
	symmetric := mat.NewSymDense(rank, nil)
	for i := range rank {
		for j := range i + 1 {
			symmetric.SetSym(i, j, core.At(i, j))
		}
		symmetric.SetSym(i, i, core.At(i, i)+p.shift)
	}
	p.core = new(mat.Cholesky)
	definite := false
	if err := interrupt.Await(ctx, func() { definite = p.core.Factorize(symmetric) }); err != nil {
		return err
	}
	if !definite {
		return fmt.Errorf("iterative: Noise/Prior and the sketch are too small or large for the rounding of the preconditioner, whose shift is %.3g", p.shift)
	}
	p.logSize += p.core.LogDet()
	return nil
}

// solve returns P⁻¹R = (R − B(BᵀB + ρI)⁻¹BᵀR)/ρ.
func (p *nystroem) solve(r dense.Matrix[float64]) dense.Matrix[float64] {
	z := r.Clone()
	if rank := p.factor.Cols; rank > 0 && r.Cols > 0 {
		inner := dense.New[float64](rank, r.Cols)
		matmul.TMul(1, p.factor, r, 0, inner)
		right := mat.NewDense(rank, r.Cols, inner.Data)
		// The error is a warning about the condition number, which New bounds.
		_ = p.core.SolveTo(right, right)
		matmul.Mul(-1, p.factor, inner, 1, z)
	}
	parallel.Rows(z.Rows, 1+rowGrain/max(1, z.Cols), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := z.Row(i)
			for j := range row {
				row[j] /= p.shift
			}
		}
	})
	return z
}

// unit returns the unit roundoff of T.
func unit[T dense.Float]() float64 {
	if _, double := any(*new(T)).(float64); double {
		return 0x1p-53
	}
	return 0x1p-24
}
