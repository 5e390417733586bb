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
	// leastReduction is the factor by which a round reduces a residual at least, although rounding of
	// its products hides more.
	leastReduction = 64
	// margin is the factor by which a round reduces a residual below its goal.
	margin = 0.5
	// longest is the largest number of steps of a round that is not wide. Rounding may keep a
	// residual from decreasing, and then only longest ends the round.
	longest = 150
)

// Solve solves the system, and calls progress, which may change Sizes, after each pass. A round of
// conjugate gradients ends when rounding stops its progress. A wide pass then computes the true
// residuals, for which the next round solves: iterative refinement. If a round reduces a residual
// by less than a factor of 8, later rounds are wide. The solution has fewer Solved columns than
// there are if Most passes do not suffice or it is Stalled. The error reports products that are not
// finite, a preconditioner that is singular to rounding, and the end of ctx.
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
	// The rounding of a product with v is about noise·‖v‖ if the elements of S are of the size tr S/D,
	// because the D errors in each sum are of random signs. Residuals of steps do not contain it.
	noise := rounding * s.Trace / math.Sqrt(float64(at.X.Rows))
	x, r, first, goals := at.X, at.Residual, Norms(at.Residual), s.goals(at)
	moved, before := make([]float64, len(first)), x.Clone()
	var open []int // columns whose round goes on
	for j, norm := range first {
		if norm > goals[j] {
			open = append(open, j)
		}
	}
	if len(open) == 0 {
		return nil
	}
	rest := columns(r, open)
	v := p.Solve(rest)
	products := dots(rest, v)
	others := len(first) - len(samples)
	for k, j := range open {
		if j >= others {
			samples[j-others].begin(products[k])
		}
	}
	for steps := 1; len(open) > 0 && at.Passes < s.Most; steps++ {
		av, err := s.multiply(ctx, v, wide)
		if err != nil {
			return err
		}
		alphas := make([]float64, len(open))
		for k, c := range dots(v, av) {
			if c > 0 && products[k] > 0 { // rounding may make a curvature negative
				alphas[k] = products[k] / c
			}
		}
		for f := range v.Rows {
			to, residual, step, change := x.Row(f), r.Row(f), v.Row(f), av.Row(f)
			for k, j := range open {
				to[j] += alphas[k] * step[k]
				residual[j] -= alphas[k] * change[k]
			}
		}
		rest = columns(r, open)
		z, betas := p.Solve(rest), make([]float64, len(open))
		for k, next := range dots(rest, z) {
			next = max(0, next)
			if alphas[k] > 0 {
				betas[k] = next / products[k]
			}
			products[k] = next
		}
		for f := range v.Rows {
			step, from := v.Row(f), z.Row(f)
			for k, b := range betas {
				step[k] = from[k] + b*step[k]
			}
		}
		s.count(at, progress)
		goals = s.goals(at)
		norms := Norms(r)
		clear(moved)
		for i := range x.Rows {
			to := x.Row(i)
			for j, v := range before.Row(i) {
				moved[j] += (to[j] - v) * (to[j] - v)
			}
		}
		var kept, still []int // of open, and columns
		for k, j := range open {
			if j >= others && alphas[k] > 0 {
				samples[j-others].add(alphas[k], betas[k])
			}
			// A column stays as it is at the end of its round: norms of residuals rise and fall.
			hidden := min(noise*math.Sqrt(moved[j]), first[j]/leastReduction)
			if alphas[k] > 0 && norms[j] > max(margin*goals[j], exhausted*first[j], hidden) {
				kept, still = append(kept, k), append(still, j)
			}
		}
		if !wide && steps == longest {
			break
		}
		if len(kept) < len(open) {
			v, products, open = columns(v, kept), columns(dense.Of(1, len(products), products), kept).Data, still
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

func columns(x dense.Matrix[float64], which []int) dense.Matrix[float64] {
	if len(which) == x.Cols {
		return x
	}
	own := dense.New[float64](x.Rows, len(which))
	for i := range x.Rows {
		from, to := x.Row(i), own.Row(i)
		for k, j := range which {
			to[k] = from[j]
		}
	}
	return own
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
