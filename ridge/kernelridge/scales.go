package kernelridge

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

const (
	scaleSteps = 40
	// leastRatio is the least λ of Scales in units of the mean of ω·k(x, x). As the length-scale ℓ
	// of a linear column rises, the best λ falls as ℓ⁻², below what Fit can solve.
	leastRatio = 0x1p-23
)

// Scales returns a Gaussian or Matern kernel k with a length-scale for each column, and a penalty λ
// for Fit, with the least weighted sum of squared leave-one-out errors on up to 2000 rows drawn
// with src. For n drawn rows, Scales takes some 40 steps of L-BFGS of 5n³ multiply-adds each, from
// the length-scale of k and the penalty λ of Choose for k. The matrix A of the kernels.Pullback
// that Scales returns is diagonal, with the inverses of the length-scales in units of the
// length-scale of k. The penalty λ of ridge regression that Scales returns is at least 2⁻²³ times
// the mean of ω_i·k(x_i, x_i) over the rows x_i that Scales draws, with weights ω_i. With fewer
// than some twenty rows per column, the length-scales fit the noise.
//
// Scales returns the errors of Choose, an error for a k that is no valid Gaussian or Matern, and
// the best length-scales so far with an error if ctx ends during L-BFGS.
func Scales[T dense.Float](ctx context.Context, k kernels.Kernel, rows ridge.Block[T], src rand.Source) (kernels.Pullback, Choice, error) {
	best := kernels.Pullback{K: k}
	of, ok := gramian.ProfileOf(k)
	if !ok {
		return best, Choice{}, fmt.Errorf("kernelridge: k is a %T, want a kernels.Gaussian or kernels.Matern", k)
	}
	if err := argument.Kernel("kernelridge: k", k); err != nil {
		return best, Choice{}, err
	}
	x, y, weights, err := sample(ctx, rows, src)
	if err != nil {
		return best, Choice{}, err
	}
	block := ridge.Block[float64]{X: x, Y: y, Weights: weights}
	choice, err := Choose(ctx, []kernels.Kernel{k}, block, src)
	if err != nil {
		return best, choice, err
	}
	s := &scales{ctx: ctx, profile: of, k: k, x: block.X, y: y, weights: weights, null: spread(y, weights), least: math.Inf(1)}
	for i, w := range weights {
		s.floor += leastRatio * w * k.Eval(x.Row(i), x.Row(i)) / float64(x.Rows)
	}
	start := make([]float64, x.Cols+1)
	start[x.Cols] = math.Log(max(choice.Ratio-s.floor, s.floor))
	s.best = slices.Clone(start)
	// An error of the line search also ends the search.
	_, _ = optimize.Minimize(optimize.Problem{
		Func: func(p []float64) float64 { s.at(p); return s.value },
		Grad: func(to, p []float64) { s.at(p); copy(to, s.slope) },
		Status: func() (optimize.Status, error) {
			if ctx.Err() != nil {
				return optimize.RuntimeLimit, nil
			}
			return optimize.NotTerminated, nil
		},
	}, start, &optimize.Settings{MajorIterations: scaleSteps, Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 3}}, &optimize.LBFGS{})
	best.A = dense.New[float64](x.Cols, x.Cols)
	for j := range x.Cols {
		best.A.Set(j, j, math.Exp(-s.best[j]))
	}
	choice.Start = choice.Score
	choice.Ratio, choice.Score = s.floor+math.Exp(s.best[x.Cols]), math.Exp(s.least)
	return best, choice, ctx.Err()
}

// scales is the log score as a function of logarithms of length-scales and of λ − floor.
type scales struct {
	ctx     context.Context
	profile gramian.Profile
	k       kernels.Kernel
	x, y    dense.Matrix[float64]
	weights []float64
	null    float64
	floor   float64

	now   []float64 // the parameters of value and slope
	value float64
	slope []float64
	best  []float64
	least float64
}

// A fit that fails has the value +Inf.
func (s *scales) at(p []float64) {
	if slices.Equal(p, s.now) {
		return
	}
	s.now, s.value, s.slope = slices.Clone(p), math.Inf(1), make([]float64, len(p))
	for _, v := range p {
		if math.Abs(v) > 50 {
			return
		}
	}
	if err := s.fit(p); err != nil {
		return
	}
	if s.value < s.least {
		s.least, s.best = s.value, s.now
	}
}

// fit computes e_i = α_i/M_ii with α = My and M = A⁻¹ − uuᵀ/(uᵀ1), u = A⁻¹1. The differential of
// Σω·e² is Σ_ab G_ab·dA_ab with
//
//	G = M·diag(t)·M − αvᵀ − vαᵀ,  t_i = 2ω_i·e_i·α_i/M_ii²,  v = M·(ω_i·e_i/M_ii).
func (s *scales) fit(p []float64) error {
	n, d := s.x.Rows, s.x.Cols
	z := dense.New[float64](n, d)
	for i := range n {
		for j, v := range s.x.Row(i) {
			z.Set(i, j, v*math.Exp(-p[j]))
		}
	}
	gram := kernels.Gram(dense.Matrix[float64]{}, s.k, z, dense.Matrix[float64]{})
	m, ratio, outputs := dense.New[float64](n, n), math.Exp(p[d]), s.y.Cols
	alpha, factor, err := gramian.Direct(s.ctx, gram.Clone(), s.y, s.weights, s.floor+ratio)
	if err != nil {
		return err
	}
	u, whole := make([]float64, n), 0.0
	for i := range u {
		m.Set(i, i, 1)
		u[i] = alpha.At(i, outputs)
		whole += u[i]
	}
	alpha = alpha.ColRange(0, outputs)
	factor.Solve(m)
	parallel.Rows(n, gramian.TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			vecmath.AddScaled(m.Row(i), u, -u[i]/whole)
		}
	})
	v, t := dense.New[float64](n, outputs), make([]float64, n)
	total := 0.0
	for i, w := range s.weights {
		own := m.At(i, i)
		for j, c := range alpha.Row(i) {
			e := c / own
			total += w * e * e
			v.Set(i, j, w*e/own)
			t[i] += 2 * w * e * c / (own * own)
		}
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return fmt.Errorf("kernelridge: squared errors of %v", total)
	}
	s.value = math.Log(total / s.null)
	sides, g := dense.New[float64](n, outputs), dense.New[float64](n, n)
	matmul.Mul(1, m, v, 0, sides)
	right := m.Clone()
	for i, by := range t {
		vecmath.Scale(right.Row(i), by)
	}
	matmul.Mul(1, m, right, 0, g)
	matmul.MulT(-1, alpha, sides, 1, g)
	matmul.MulT(-1, sides, alpha, 1, g)
	for i, w := range s.weights {
		s.slope[d] += g.At(i, i) * ratio / w / total
	}
	s.slopes(g, gram, z, total)
	return nil
}

// For q = ‖z − z'‖² in units of the length-scale, dk = −2k'(q)·(z_j − z'_j)²·dlog ℓ_j.
func (s *scales) slopes(g, gram, z dense.Matrix[float64], total float64) {
	n, d, unit := z.Rows, z.Cols, s.profile.LengthScale
	squares, products := make([]float64, n), dense.New[float64](n, n)
	for i := range n {
		squares[i] = 2 * vecmath.HalfSquaredNorm(z.Row(i))
	}
	matmul.MulT(1, z, z, 0, products)
	sums := make([]float64, n)
	parallel.Rows(n, gramian.TileRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := g.Row(i)
			for j, k := range gram.Row(i) {
				q := max(0, squares[i]+squares[j]-2*products.At(i, j)) / unit / unit
				row[j] *= -2 * s.profile.Derivative(q, k) / unit / unit
			}
			sums[i] = vecmath.Sum(row)
		}
	})
	moved := dense.New[float64](n, d)
	matmul.Mul(1, g, z, 0, moved)
	for i := range n {
		for j, v := range z.Row(i) {
			s.slope[j] += 2 * v * (sums[i]*v - moved.At(i, j)) / total
		}
	}
}
