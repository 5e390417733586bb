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

// nystroem is the preconditioner P = BBᵀ + ρI, ρ = λ + (tr S − tr BBᵀ)/(D − r), which has the trace
// of S + λI [Frangella et al. 2023]. BBᵀ approximates the large eigenvalues of S.
type nystroem struct {
	factor dense.Matrix[float64] // Bᵀ, r×D
	shift  float64               // ρ
	core   *cholesky.Factor      // of BᵀB + ρI
	logDet float64               // log det P
}

// sketch returns the preconditioner of the Nyström approximation of S. One pass computes Y = SG for
// a normal matrix G (D×r). The shift ν keeps Gᵀ(Y + νG) = CᵀC positive definite despite rounding,
// and B = (Y + νG)C⁻¹.
func (s *System) sketch(ctx context.Context, rng *rand.Rand) (*nystroem, error) {
	width, rank := s.Right.Rows, s.Rank
	p := &nystroem{factor: dense.New[float64](rank, width)}
	g, y := dense.New[float64](width, rank), dense.New[float64](width, rank)
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	squares := 0.0
	if rank > 0 {
		if err := s.S.Multiply(ctx, y, g, false); err != nil {
			return nil, err
		}
		for _, v := range y.Data {
			squares += v * v
		}
		if squares-squares != 0 {
			return nil, fmt.Errorf("ridge: products of features have the sum of squares %v, want a finite number: scale the features", squares)
		}
	}
	if squares > 0 {
		// ν is the rounding of a pass times the Frobenius norm of S, which the norm of Y estimates.
		if err := p.factorise(ctx, g, y, s.Unit*math.Sqrt(squares/float64(rank))); err != nil {
			return nil, err
		}
	}
	left := s.Trace
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
	core := dense.New[float64](rank, rank)
	matmul.MulT(1, p.factor, p.factor, 0, core)
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

// factorise sets the factor Bᵀ from G, Y and a first ν.
func (p *nystroem) factorise(ctx context.Context, g, y dense.Matrix[float64], nu float64) error {
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

// solve returns P⁻¹R = (R − B(BᵀB + ρI)⁻¹BᵀR)/ρ.
func (p *nystroem) solve(r dense.Matrix[float64]) dense.Matrix[float64] {
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
