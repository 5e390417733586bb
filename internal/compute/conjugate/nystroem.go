package conjugate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// Preconditioner is P = BBᵀ + ρI, ρ = λ + (tr S − tr BBᵀ)/(D − r), which has the trace
// of S + λI [Frangella et al. 2023]. BBᵀ approximates the large eigenvalues of S.
type Preconditioner struct {
	factor dense.Matrix[float64] // Bᵀ, r×D
	shift  float64               // ρ
	core   *cholesky.Factor      // of BᵀB + ρI
	logDet float64               // log det P
}

const columnsAtOnce = 1024 // of the factor

func (s *System) preconditioner(ctx context.Context, rng *rand.Rand) (*Preconditioner, error) {
	p := &Preconditioner{factor: s.Factor}
	if s.Factor.Rows == 0 {
		if err := s.sketch(ctx, p, rng); err != nil {
			return nil, err
		}
	}
	width, rank, left := s.Right.Rows, p.factor.Rows, s.Trace
	for _, v := range p.factor.Data {
		left -= v * v
	}
	p.shift = s.Ratio
	if rank < width {
		p.shift += max(0, left) / float64(width-rank)
	}
	p.logDet = float64(width-rank) * math.Log(p.shift)
	if rank == 0 {
		return p, nil
	}
	core := p.square(ctx)
	for i := range rank {
		core.Row(i)[i] += p.shift
	}
	var err error
	if p.core, err = cholesky.New(ctx, core); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g and the sketch are too small or large for the rounding of the preconditioner, whose shift is %.3g", s.Ratio, p.shift)
	}
	p.logDet += p.core.LogDet
	return p, nil
}

// square returns BᵀB, unless ctx ends.
func (p *Preconditioner) square(ctx context.Context) dense.Matrix[float64] {
	const height = 128 // of bands
	rank := p.factor.Rows
	square := dense.New[float64](rank, rank)
	var bands []dense.Matrix[float64]
	for lo := 0; lo < rank; lo += height {
		hi := min(lo+height, rank)
		bands = append(bands, square.RowRange(lo, hi).ColRange(0, hi))
	}
	rows := dense.New[float64](min(columnsAtOnce, p.factor.Cols), rank) // of B
	for lo := 0; lo < p.factor.Cols && ctx.Err() == nil; lo += columnsAtOnce {
		hi := min(lo+columnsAtOnce, p.factor.Cols)
		matmul.AddSquare(dense.Transpose(rows.RowRange(0, hi-lo), p.factor.ColRange(lo, hi)), height, bands)
	}
	for i := range rank {
		for j, v := range square.Row(i)[:i] {
			square.Row(j)[i] = v
		}
	}
	return square
}

// sketch sets the factor to that of the Nyström approximation of S. One pass computes Y = SG for a
// normal matrix G (D×r). The shift ν keeps Gᵀ(Y + νG) = CᵀC positive definite despite rounding, and
// B = (Y + νG)C⁻¹.
func (s *System) sketch(ctx context.Context, p *Preconditioner, rng *rand.Rand) error {
	width, rank := s.Right.Rows, s.Rank
	p.factor = dense.New[float64](rank, width)
	if rank == 0 {
		return nil
	}
	g, y := dense.New[float64](width, rank), dense.New[float64](width, rank)
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	if err := s.S.Multiply(ctx, y, g, false); err != nil {
		return err
	}
	squares := 0.0
	for _, v := range y.Data {
		squares += v * v
	}
	if squares-squares != 0 {
		return fmt.Errorf("ridge: products of features have the sum of squares %v, want a finite number: scale the features", squares)
	}
	if squares == 0 {
		return nil
	}
	// ν is the rounding of a pass times the Frobenius norm of S, which the norm of Y estimates.
	return p.factorise(ctx, g, y, s.Unit*math.Sqrt(squares/float64(rank)))
}

func (p *Preconditioner) factorise(ctx context.Context, g, y dense.Matrix[float64], nu float64) error {
	const attempts = 12
	rank := g.Cols
	products, own, a := dense.New[float64](rank, rank), dense.New[float64](rank, rank), dense.New[float64](rank, rank)
	matmul.TMul(1, g, y, 0, products)
	matmul.TMul(1, g, g, 0, own)
	for range attempts {
		for i := range rank {
			for j := i; j < rank; j++ {
				a.Set(i, j, (products.At(i, j)+products.At(j, i))/2+nu*own.At(i, j))
			}
		}
		c, err := cholesky.New(ctx, a)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			nu *= 8
			continue
		}
		for i, v := range g.Data {
			y.Data[i] += nu * v
		}
		c.Half(ctx, dense.Transpose(p.factor, y))
		return ctx.Err()
	}
	return errors.New("ridge: the sketch of the features is not positive definite: rows differ from pass to pass, or are no numbers")
}

// Solve returns P⁻¹R = (R − B(BᵀB + ρI)⁻¹BᵀR)/ρ.
func (p *Preconditioner) Solve(r dense.Matrix[float64]) dense.Matrix[float64] {
	z := r.Clone()
	if p.core != nil {
		inner := dense.New[float64](p.factor.Rows, r.Cols)
		matmul.Mul(1, p.factor, r, 0, inner)
		p.core.Solve(inner)
		matmul.TMul(-1, p.factor, inner, 1, z)
	}
	parallel.Rows(z.Rows, 1+1<<14/z.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := z.Row(i)
			for j := range row {
				row[j] /= p.shift
			}
		}
	})
	return z
}

// Diagonal returns the diagonal of P⁻¹, 1/ρ minus the squared norms of the columns of C⁻ᵀBᵀ over ρ,
// for the Cholesky factor C of BᵀB + ρI.
func (p *Preconditioner) Diagonal(ctx context.Context) ([]float64, error) {
	diagonal := make([]float64, p.factor.Cols)
	for i := range diagonal {
		diagonal[i] = 1 / p.shift
	}
	for lo := 0; lo < len(diagonal) && p.core != nil; lo += columnsAtOnce {
		hi := min(lo+columnsAtOnce, len(diagonal))
		half := p.factor.ColRange(lo, hi).Clone()
		p.core.Half(ctx, half)
		for r := range half.Rows {
			for i, v := range half.Row(r) {
				diagonal[lo+i] -= v * v / p.shift
			}
		}
	}
	return diagonal, ctx.Err()
}
