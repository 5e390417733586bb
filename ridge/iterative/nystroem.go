package iterative

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// nystroem is the matrix P = BBᵀ + ρI, B D×r. Exported fields are parts of files.
type nystroem struct {
	Factor dense.Matrix[float64] // B
	Shift  float64               // ρ

	core    *mat.Cholesky // of BᵀB + ρI
	logSize float64       // log det P
}

// sketch returns the P of remainder with B of the Nyström approximation BBᵀ of S from Y = SG, G
// normal D×rank.
func (p *problem) sketch(ctx context.Context, rows operator, rank int, rng *rand.Rand) (*nystroem, error) {
	width := len(p.moments.Mean)
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
	// S + νI is positive definite where rounding has not left S so. ν is that of T times ‖S‖, of
	// the Frobenius norm, which the norm of Y estimates.
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
		c := dense.New[float64](rank, rank)
		for i := range rank {
			for j := i; j < rank; j++ {
				c.Set(i, j, inverse.At(i, j))
			}
		}
		for lo, hi := range interrupt.Ranges(ctx, width, 1024) {
			matmul.Mul(1, y.RowRange(lo, hi), c, 0, factor.RowRange(lo, hi)) // G is no longer needed
		}
		break
	}
	return p.remainder(factor), ctx.Err()
}

// productColumns is the number of columns of a product between two looks at the context.
const productColumns = 64

// remainder returns P = BBᵀ + ρI for λ = 0, which is not prepared: ρ is the mean of the eigenvalues
// that BBᵀ leaves of S, so that P has the trace of S.
func (p *problem) remainder(b dense.Matrix[float64]) *nystroem {
	left := p.moments.Trace
	for _, v := range b.Data {
		left -= v * v
	}
	n := &nystroem{Factor: b}
	if b.Cols < b.Rows {
		n.Shift = max(0, left) / float64(b.Rows-b.Cols)
	}
	return n
}

// prepare factorises what the products of p need. It returns at the end of ctx.
func (p *nystroem) prepare(ctx context.Context) error {
	width, rank := p.Factor.Rows, p.Factor.Cols
	p.logSize = float64(width-rank) * math.Log(p.Shift)
	if rank == 0 {
		return nil
	}
	core := dense.New[float64](rank, rank)
	for lo, hi := range interrupt.Ranges(ctx, rank, productColumns) {
		matmul.TMul(1, p.Factor.ColRange(lo, hi), p.Factor, 0, core.RowRange(lo, hi))
	}
	symmetric := mat.NewSymDense(rank, nil)
	for i := range rank {
		for j := range i + 1 {
			symmetric.SetSym(i, j, core.At(i, j))
		}
		symmetric.SetSym(i, i, core.At(i, i)+p.Shift)
	}
	p.core = new(mat.Cholesky)
	definite := false
	if err := interrupt.Await(ctx, func() { definite = p.core.Factorize(symmetric) }); err != nil {
		return err
	}
	if !definite {
		return fmt.Errorf("iterative: Noise/Prior and the sketch are too small or large for the rounding of the preconditioner, whose shift is %.3g", p.Shift)
	}
	p.logSize += p.core.LogDet()
	return nil
}

// solve returns P⁻¹R = (R − B(BᵀB + ρI)⁻¹BᵀR)/ρ.
func (p *nystroem) solve(r dense.Matrix[float64]) dense.Matrix[float64] {
	z := r.Clone()
	if rank := p.Factor.Cols; rank > 0 && r.Cols > 0 {
		inner := dense.New[float64](rank, r.Cols)
		matmul.TMul(1, p.Factor, r, 0, inner)
		right := mat.NewDense(rank, r.Cols, inner.Data)
		// The error is a warning of a condition number, which Fit bounds by λ.
		_ = p.core.SolveTo(right, right)
		matmul.Mul(-1, p.Factor, inner, 1, z)
	}
	parallel.Rows(z.Rows, 1+rowGrain/max(1, z.Cols), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := z.Row(i)
			for j := range row {
				row[j] /= p.Shift
			}
		}
	})
	return z
}

// unit returns the rounding of T.
func unit[T dense.Float]() float64 {
	var x T
	if _, double := any(x).(float64); double {
		return 0x1p-53
	}
	return 0x1p-24
}
