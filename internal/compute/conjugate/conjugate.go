// Package conjugate solves systems (S + λI)X = B by preconditioned conjugate gradients. S is known
// by its products alone, each a pass over data. Errors have the name of package ridge, the caller.
package conjugate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

type Operator interface {
	// Multiply writes S·V into dst. The products of a wide pass have the rounding of float64.
	Multiply(ctx context.Context, dst, v dense.Matrix[float64], wide bool) error
}

// System is (S + λI)X = B. The last Samples columns of B are drawn from N(0, S + λI), so that those
// of X have the covariance (S + λI)⁻¹.
type System struct {
	S       Operator
	Right   dense.Matrix[float64] // B
	Samples int
	Ratio   float64 // λ
	Trace   float64 // tr S
	Unit    float64 // unit roundoff of products that are not wide
	Rank    int     // of the preconditioner
	// Bᵀ of the preconditioner BBᵀ + ρI, or no rows for one of Rank from a pass
	Factor dense.Matrix[float64]
	Sizes  []float64 // the largest ‖S^½(x − x*)‖ of a solved x, for each column that is no sample
	Most   int       // the largest number of passes, without that of the preconditioner
}

type Solution struct {
	X, Residual dense.Matrix[float64] // Residual = B − (S + λI)X
	Passes      int
	Solved      int  // number of solved columns
	Stalled     bool // rounding of float64 prevents progress

	P *Preconditioner

	// log det(S + λI) and its standard error, estimated from the samples
	LogDet, LogDetError float64
}

const (
	// sampleSize bounds ‖S^½(x − x*)‖ of a sample, relative to ‖S^½x‖. The relative error of a
	// variance is about its square.
	sampleSize = 1.0 / 256
	// margin is the factor by which a round reduces a residual below its goal.
	margin = 0.5
	// longest is the largest number of steps of a round that is not wide. Rounding may keep a
	// residual from decreasing, and then only longest ends the round.
	longest = 150
)

// Solve solves the system, and calls progress, which may change Sizes, after each pass. A round of conjugate gradients ends
// when rounding stops its progress. A wide pass then computes the true residuals, for which the
// next round solves: iterative refinement. If a round reduces a residual by less than a factor of
// 8, later rounds are wide. The solution has fewer Solved columns than there are if Most passes do
// not suffice or it is Stalled. The error reports products that are not finite, a preconditioner
// that is singular to rounding, and the end of ctx.
func (s *System) Solve(ctx context.Context, rng *rand.Rand, progress func(*Solution)) (*Solution, error) {
	p, err := s.preconditioner(ctx, rng)
	if err != nil {
		return nil, err
	}
	at := &Solution{P: p, X: dense.New[float64](s.Right.Rows, s.Right.Cols), Residual: s.Right.Clone()}
	samples := make([]lanczos, s.Samples)
	for wide := s.Unit <= 0x1p-53; !at.Stalled && at.Solved < s.Right.Cols && at.Passes < s.Most; {
		before := Norms(at.Residual)
		if err := s.round(ctx, p, at, samples, wide, progress); err != nil {
			return nil, err
		}
		if at.Passes >= s.Most {
			break
		}
		r, err := s.multiply(ctx, at.X, true)
		if err != nil {
			return nil, err
		}
		for i, v := range r.Data {
			r.Data[i] = s.Right.Data[i] - v
		}
		at.Residual = r
		after, goals, slow := Norms(r), s.goals(at), false
		for j, v := range after {
			slow = slow || v > goals[j] && v > before[j]/8
		}
		at.Stalled, wide = slow && wide, slow || wide
		s.count(at, progress)
	}
	at.LogDet, at.LogDetError = p.determinant(samples, s.Ratio/(s.Trace+p.shift))
	return at, nil
}

// round takes steps of conjugate gradients in all columns, until rounding stops the progress of
// each or it is solved.
func (s *System) round(ctx context.Context, p *Preconditioner, at *Solution, samples []lanczos, wide bool, progress func(*Solution)) error {
	rounding := s.Unit
	if wide {
		rounding = 0x1p-53
	}
	exhausted := math.Sqrt(rounding) / 32 // least reduction of a residual in a round
	x, r, first := at.X, at.Residual, Norms(at.Residual)
	v := p.Solve(r)
	products := dots(r, v)
	open, goals := make([]bool, len(products)), s.goals(at) // columns whose round goes on
	for j, norm := range first {
		open[j] = norm > goals[j]
	}
	for i := range samples {
		samples[i].begin(products[len(products)-len(samples)+i])
	}
	for steps := 1; at.Passes < s.Most; steps++ {
		av, err := s.multiply(ctx, v, wide)
		if err != nil {
			return err
		}
		alphas, curvatures := make([]float64, len(products)), dots(v, av)
		for j, c := range curvatures {
			// At the end of a round, rounding may make a curvature negative. Columns stay as they
			// are at the end of their round, because norms of residuals rise and fall.
			if open[j] && c > 0 && products[j] > 0 {
				alphas[j] = products[j] / c
			}
		}
		for f := range v.Rows {
			to, rest, step, change := x.Row(f), r.Row(f), v.Row(f), av.Row(f)
			for j, a := range alphas {
				to[j] += a * step[j]
				rest[j] -= a * change[j]
			}
		}
		z, betas := p.Solve(r), make([]float64, len(products))
		for j, next := range dots(r, z) {
			next = max(0, next)
			if alphas[j] > 0 {
				betas[j] = next / products[j]
			}
			products[j] = next
		}
		for f := range v.Rows {
			step, from := v.Row(f), z.Row(f)
			for j, b := range betas {
				step[j] = from[j] + b*step[j]
			}
		}
		s.count(at, progress)
		more := false
		goals = s.goals(at)
		for j, norm := range Norms(r) {
			if i := j - (len(open) - len(samples)); i >= 0 && alphas[j] > 0 {
				samples[i].add(alphas[j], betas[j])
			}
			open[j] = alphas[j] > 0 && norm > max(margin*goals[j], exhausted*first[j])
			more = more || open[j]
		}
		if !more || !wide && steps == longest {
			break
		}
	}
	for i := range samples {
		samples[i].closed = true
	}
	return nil
}

func (s *System) multiply(ctx context.Context, v dense.Matrix[float64], wide bool) (dense.Matrix[float64], error) {
	av := dense.New[float64](v.Rows, v.Cols)
	if err := s.S.Multiply(ctx, av, v, wide); err != nil {
		return av, err
	}
	for i, e := range v.Data {
		if av.Data[i] += s.Ratio * e; av.Data[i]-av.Data[i] != 0 {
			return av, fmt.Errorf("ridge: a product of sums with a column is %v, want a finite number", av.Data[i])
		}
	}
	return av, nil
}

// goals returns for each column the norm of the residual r below which it is solved: ‖S^½(x − x*)‖
// ≤ ‖r‖/(2√λ), because √s/(s + λ) ≤ 1/(2√λ) for each eigenvalue s of S.
func (s *System) goals(at *Solution) []float64 {
	goals := make([]float64, s.Right.Cols)
	images, squares, rest := dots(at.X, s.Right), dots(at.X, at.X), dots(at.X, at.Residual)
	for j := range goals {
		size := 0.0
		if j < len(s.Sizes) {
			size = s.Sizes[j]
		} else {
			// ‖S^½x‖² = xᵀ(b − r) − λ‖x‖². Its mean is the number of degrees of freedom.
			size = sampleSize * math.Sqrt(1+max(0, images[j]-rest[j]-s.Ratio*squares[j]))
		}
		goals[j] = 2 * math.Sqrt(s.Ratio) * size
	}
	return goals
}

func (s *System) count(at *Solution, progress func(*Solution)) {
	at.Passes++
	progress(at)
	at.Solved = 0
	goals := s.goals(at)
	for j, norm := range Norms(at.Residual) {
		if norm <= goals[j] {
			at.Solved++
		}
	}
}

func dots(x, y dense.Matrix[float64]) []float64 {
	sums := make([]float64, x.Cols)
	for i := range x.Rows {
		other := y.Row(i)
		for j, v := range x.Row(i) {
			sums[j] += v * other[j]
		}
	}
	return sums
}

func Norms(x dense.Matrix[float64]) []float64 {
	sizes := dots(x, x)
	for j, v := range sizes {
		sizes[j] = math.Sqrt(v)
	}
	return sizes
}
