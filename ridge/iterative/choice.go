package iterative

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// choice is the search for the λ of maximum evidence: S in the block Krylov space of the right
// sides b of outputs and of probes g, vectors of random signs. Exported fields are parts of files.
//
// With an orthonormal basis Q of the space, QᵀSQ = VΘVᵀ and u = VᵀQᵀb,
//
//	bᵀ(S + λI)⁻¹b ≈ Σ u_i²/(θ_i + λ),  gᵀlog(S + λI)g ≈ Σ (VᵀQᵀg)_i²·log(θ_i + λ)
//
// for every λ at once, and the mean of the latter is log det(S + λI) [Golub & Meurant 2010].
type choice struct {
	Basis   []dense.Matrix[float64] // Q, a block for each step; products with the last one are to come
	Start   dense.Matrix[float64]   // Qᵀ[b g], of which all but the rows of the first block are zeros
	Section dense.Matrix[float64]   // QᵀSQ
	Look    int                     // the number of steps after which the evidence is looked at
	Best    float64                 // log λ of the last look
	Seed    int                     // of the normal numbers that √λ multiplies in right sides of samples
}

const (
	// blockWidth is the number of outputs and probes: a pass takes hardly longer than with one.
	blockWidth = 16
	// longestChoice is the largest number of steps, whose basis is memory.
	longestChoice = 64
	// worth is the gain of log evidence by the steps since the last look that takes more steps.
	worth = 1
	// gridStep is the step in log λ of the places where the evidence is looked at.
	gridStep = 1.0 / 32
)

// newChoice returns the space of the right sides of outputs and of probes.
func newChoice(right dense.Matrix[float64], rng *rand.Rand) choice {
	outputs := right.Cols
	start := dense.New[float64](right.Rows, max(blockWidth, outputs+2))
	for i := range start.Rows {
		row := start.Row(i)
		copy(row, right.Row(i))
		for j := outputs; j < len(row); j++ {
			row[j] = float64(2*rng.IntN(2) - 1)
		}
	}
	c := choice{Look: 4, Seed: rng.Int()}
	first := orthonormal(start.Clone(), nil)
	c.Basis = []dense.Matrix[float64]{first}
	c.Start = dense.New[float64](first.Cols, start.Cols)
	matmul.TMul(1, first, start, 0, c.Start)
	return c
}

// extend takes the product of S with the last block, and reports whether the space is invariant,
// so that no step would add to it.
func (c *choice) extend(product dense.Matrix[float64]) (invariant bool) {
	last := c.Basis[len(c.Basis)-1].Cols
	old := c.Section
	c.Section = dense.New[float64](old.Rows+last, old.Rows+last)
	for i := range old.Rows {
		copy(c.Section.Row(i), old.Row(i))
	}
	at := 0
	for _, q := range c.Basis {
		part := dense.New[float64](q.Cols, last)
		matmul.TMul(1, q, product, 0, part)
		for i := range part.Rows {
			for j, v := range part.Row(i) {
				c.Section.Set(at+i, old.Rows+j, v)
				c.Section.Set(old.Rows+j, at+i, v)
			}
		}
		at += q.Cols
	}
	next := orthonormal(product, c.Basis)
	if next.Cols == 0 {
		return true
	}
	c.Basis = append(c.Basis, next)
	return false
}

// orthonormal returns an orthonormal basis of what the columns of x add to the space of basis. It
// changes x.
func orthonormal(x dense.Matrix[float64], basis []dense.Matrix[float64]) dense.Matrix[float64] {
	const dependent = 1e-8
	// The first time leaves rounding over what is left, and the second one that of unit vectors.
	for range 2 {
		sizes := dots(x, x)
		for range 2 {
			for _, q := range basis {
				part := dense.New[float64](q.Cols, x.Cols)
				matmul.TMul(1, q, x, 0, part)
				matmul.Mul(-1, q, part, 1, x)
			}
		}
		var kept []int
		for j := range x.Cols {
			for range 2 {
				shares := make([]float64, len(kept))
				for i := range x.Rows {
					row := x.Row(i)
					for l, k := range kept {
						shares[l] += row[k] * row[j]
					}
				}
				for i := range x.Rows {
					row := x.Row(i)
					for l, k := range kept {
						row[j] -= shares[l] * row[k]
					}
				}
			}
			square := 0.0
			for i := range x.Rows {
				square += x.At(i, j) * x.At(i, j)
			}
			size := math.Sqrt(square)
			if !(size > dependent*math.Sqrt(sizes[j])) {
				continue
			}
			for i := range x.Rows {
				x.Row(i)[j] /= size
			}
			kept = append(kept, j)
		}
		x = pick(x, kept)
	}
	return x
}

// choose takes a step of the choice of λ, and settles it when steps are worth no more.
func (s *solver) choose(ctx context.Context, rows operator) error {
	c := s.choice
	last := c.Basis[len(c.Basis)-1]
	product := dense.New[float64](last.Rows, last.Cols)
	// Rounding of float32 would pass for small eigenvalues.
	if err := rows.pass(ctx, product, last, true, nil); err != nil {
		return err
	}
	if err := argument.Finite("iterative: product of sums with a column", product); err != nil {
		return err
	}
	c.Basis = slices.Clone(c.Basis)
	steps := len(c.Basis)
	done := c.extend(product)
	if !done && steps < c.Look && steps < longestChoice {
		s.choice = c
		s.Steps++
		return nil
	}
	values, vectors, err := c.ritz(ctx)
	if err != nil {
		return err
	}
	f := s.curve(c.Start, values, vectors, done)
	low := math.Log(s.least()) + gridStep
	best, most := 0.0, math.Inf(-1)
	for i := range interrupt.Ranges(ctx, int((math.Log(10*s.moments.Trace)-low)/gridStep), 1) {
		if at := low + float64(i)*gridStep; f(at) > most {
			best, most = at, f(at)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if math.IsInf(most, -1) {
		return errors.New("iterative: the features explain the targets to rounding for every Noise/Prior, which tells nothing of the noise")
	}
	before, after := f(best-gridStep), f(best+gridStep)
	if bend := before + after - 2*most; bend < 0 && before-before == 0 {
		best += max(-gridStep, min(gridStep/2*(before-after)/bend, gridStep))
	}
	done = done || steps >= longestChoice || steps > 4 && f(best)-f(c.Best) < worth
	c.Best, c.Look = best, steps+1+steps/4
	if done {
		if err := s.settle(ctx, math.Exp(best), s.remainder(c.factor(values, vectors)), rand.New(rand.NewPCG(uint64(c.Seed), 0))); err != nil {
			return err
		}
		s.Steps = steps
		return nil
	}
	s.choice = c
	s.Steps++
	return nil
}

// ritz returns the eigenvalues Θ of QᵀSQ, none of them negative, and their vectors V.
func (c *choice) ritz(ctx context.Context) (values []float64, vectors dense.Matrix[float64], err error) {
	size := c.Section.Rows
	symmetric := mat.NewSymDense(size, nil)
	for i := range size {
		for j, v := range c.Section.Row(i)[:i+1] {
			symmetric.SetSym(i, j, v)
		}
	}
	var eigen mat.EigenSym
	found := false
	if err := interrupt.Await(ctx, func() { found = eigen.Factorize(symmetric, true) }); err != nil {
		return nil, vectors, err
	}
	if !found {
		return nil, vectors, errors.New("iterative: the eigenvalues of the sums of features are not found")
	}
	vectors = dense.New[float64](size, size)
	eigen.VectorsTo(mat.NewDense(size, size, vectors.Data))
	values = eigen.Values(nil)
	for i := range values {
		values[i] = max(values[i], 0)
	}
	return values, vectors, nil
}

// factor returns B = QVΘ^½, with which BBᵀ is S within the space.
func (c *choice) factor(values []float64, vectors dense.Matrix[float64]) dense.Matrix[float64] {
	scaled := vectors.Clone()
	for i := range scaled.Rows {
		row := scaled.Row(i)
		for j, v := range values {
			row[j] *= math.Sqrt(v)
		}
	}
	to := dense.New[float64](c.Basis[0].Rows, scaled.Cols)
	at := 0
	for _, q := range c.Basis {
		if at == scaled.Rows {
			break // the block without a product
		}
		matmul.Mul(1, q, scaled.RowRange(at, at+q.Cols), 1, to)
		at += q.Cols
	}
	return to
}

// curve returns the evidence as a function of log λ, but for a number. all says that the space
// holds all eigenvectors of eigenvalues that are not zero.
func (p *problem) curve(start dense.Matrix[float64], values []float64, vectors dense.Matrix[float64], all bool) func(log float64) float64 {
	size, outputs := len(values), len(p.moments.Targets)
	width := float64(len(p.moments.Mean))
	squares := dense.New[float64](size, outputs) // (VᵀQᵀb)²
	counts := make([]float64, size)              // of eigenvalues at θ
	rest := width
	for i := range size {
		for j := range start.Cols {
			v := 0.0
			for l := range start.Rows {
				v += vectors.At(l, i) * start.At(l, j)
			}
			if j < outputs {
				squares.Set(i, j, v*v)
			} else {
				counts[i] += v * v / float64(start.Cols-outputs)
			}
		}
		if all {
			counts[i] = 1
		}
		rest -= counts[i]
	}
	n := p.degrees()
	return func(log float64) float64 {
		ratio := math.Exp(log)
		determinant := rest * log
		for i, v := range values {
			determinant += counts[i] * math.Log(v+ratio)
		}
		evidence := 0.0
		for j, all := range p.moments.Squares {
			left := all
			for i, v := range values {
				left -= squares.At(i, j) / (v + ratio)
			}
			noise := p.opts.Noise
			switch {
			case noise > 0:
			case p.opts.Prior > 0:
				noise = ratio * p.opts.Prior
			case !(left > 0x1p-43*n*all):
				return math.Inf(-1)
			default:
				noise = left / n
			}
			evidence -= 0.5 * (max(left, 0)/noise + determinant - width*log + n*math.Log(noise))
		}
		return evidence
	}
}

// settle gives λ and the preconditioner of λ = 0, with which columns begin, and adds to the right
// sides of samples what λ has to do with.
func (s *solver) settle(ctx context.Context, ratio float64, condition *nystroem, rng *rand.Rand) error {
	condition.Shift += ratio
	if err := condition.prepare(ctx); err != nil {
		return err
	}
	s.ratio, s.condition, s.choice = ratio, condition, choice{}
	root := math.Sqrt(ratio)
	for i := range s.right.Rows {
		row := s.right.Row(i)[len(s.moments.Targets):]
		for j := range row {
			row[j] += root * rng.NormFloat64()
		}
	}
	s.columns = newColumns(s.right, s.right.Cols-len(s.moments.Targets))
	s.Wide = unit[float64]() == s.unit
	s.restart(s.condition)
	return nil
}

// check returns an error unless c is the choice of a solver of so many features and outputs.
func (c *choice) check(width, outputs, steps int) error {
	if len(c.Basis) == 0 || len(c.Basis) > longestChoice || steps != len(c.Basis)-1 || c.Look < 1 || c.Seed < 0 {
		return fmt.Errorf("a choice has %d blocks after %d steps, the look %d and the seed %d", len(c.Basis), steps, c.Look, c.Seed)
	}
	size := 0
	for i, q := range c.Basis {
		if q.Rows != width || q.Cols < 1 || q.Cols > c.Start.Cols {
			return fmt.Errorf("choice.basis[%d] is %d×%d, want %d rows and from 1 to %d columns", i, q.Rows, q.Cols, width, c.Start.Cols)
		}
		size += q.Cols
	}
	size -= c.Basis[len(c.Basis)-1].Cols
	if c.Section.Rows != size || c.Section.Cols != size {
		return fmt.Errorf("choice.section is %d×%d, want %d×%d", c.Section.Rows, c.Section.Cols, size, size)
	}
	if c.Start.Rows != c.Basis[0].Cols || c.Start.Cols != max(blockWidth, outputs+2) {
		return fmt.Errorf("choice.start is %d×%d, want %d×%d", c.Start.Rows, c.Start.Cols, c.Basis[0].Cols, max(blockWidth, outputs+2))
	}
	return finite(append([]dense.Matrix[float64]{c.Start, c.Section, dense.Of(1, 1, []float64{c.Best})}, c.Basis...)...)
}
