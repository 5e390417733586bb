package iterative

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// choice is the search for the λ of maximum evidence in the block Krylov space of S, the right
// sides b of outputs, and probes g, vectors of random signs.
//
// With an orthonormal basis Q of the space, QᵀSQ = VΘVᵀ and u = VᵀQᵀb,
//
//	bᵀ(S + λI)⁻¹b ≈ Σ u_i²/(θ_i + λ),  gᵀlog(S + λI)g ≈ Σ (VᵀQᵀg)_i²·log(θ_i + λ)
//
// for every λ at once. The mean of the second form over the probes estimates log det(S + λI) [Golub
// & Meurant 2010].
type choice struct {
	basis   []dense.Matrix[float64] // Q, a block for each step; S has not yet multiplied the last block
	start   dense.Matrix[float64]   // Qᵀ[b g], the rows of the first block; all other rows are zeros
	section dense.Matrix[float64]   // QᵀSQ
	check   int                     // number of steps at which the evidence is evaluated next
	best    float64                 // log λ of the previous evaluation
	seed    int                     // of the normal numbers ε₂ in the right sides of samples
}

const (
	// blockWidth is the number of outputs and probes. A pass with 16 columns takes hardly longer
	// than a pass with one.
	blockWidth = 16
	// longestChoice is the largest number of steps. Memory for the basis grows with the steps.
	longestChoice = 64
	// worth is the gain of log evidence between two evaluations below which the choice ends.
	worth = 1
	// gridStep is the distance of neighbouring log λ at which the evidence is evaluated.
	gridStep = 1.0 / 32
)

// newChoice returns the choice for the right sides of outputs.
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
	first := orthonormal(start.Clone(), nil)
	c := choice{check: 4, seed: rng.Int(), basis: []dense.Matrix[float64]{first}, start: dense.New[float64](first.Cols, start.Cols)}
	matmul.TMul(1, first, start, 0, c.start)
	return c
}

// extend extends section by the product of S with the last block, and basis by a block. extend
// returns true if the space is invariant under S, and adds no block then.
func (c *choice) extend(product dense.Matrix[float64]) (invariant bool) {
	last := c.basis[len(c.basis)-1].Cols
	old := c.section
	c.section = dense.New[float64](old.Rows+last, old.Rows+last)
	dense.Copy(c.section.RowRange(0, old.Rows).ColRange(0, old.Rows), old)
	at := 0
	for _, q := range c.basis {
		part := dense.New[float64](q.Cols, last)
		matmul.TMul(1, q, product, 0, part)
		for i := range part.Rows {
			for j, v := range part.Row(i) {
				c.section.Set(at+i, old.Rows+j, v)
				c.section.Set(old.Rows+j, at+i, v)
			}
		}
		at += q.Cols
	}
	next := orthonormal(product, c.basis)
	if next.Cols == 0 {
		return true
	}
	c.basis = append(c.basis, next)
	return false
}

// orthonormal returns an orthonormal basis of the columns of x orthogonal to the columns of basis.
// orthonormal leaves out columns that depend on others, and changes x.
func orthonormal(x dense.Matrix[float64], basis []dense.Matrix[float64]) dense.Matrix[float64] {
	const dependent = 1e-8
	// The second round removes the rounding of the first, relative to columns of norm 1.
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

// choose takes a step of the choice of λ. The last step calls settle.
func (s *solver) choose(ctx context.Context, rows operator) error {
	c := s.choice
	last := c.basis[len(c.basis)-1]
	product := dense.New[float64](last.Rows, last.Cols)
	// The rounding of float32 would look like small eigenvalues.
	if err := rows.pass(ctx, product, last, true, nil); err != nil {
		return err
	}
	if err := argument.Finite("iterative: product of sums with a column", product); err != nil {
		return err
	}
	c.basis = slices.Clone(c.basis)
	steps := len(c.basis)
	done := c.extend(product)
	if !done && steps < c.check && steps < longestChoice {
		s.choice = c
		s.steps++
		return nil
	}
	values, vectors, err := c.ritz(ctx)
	if err != nil {
		return err
	}
	f := s.curve(c.start, values, vectors, done)
	low := math.Log(s.least()) + gridStep
	best, most := 0.0, math.Inf(-1)
	for i := range interrupt.Ranges(ctx, int((math.Log(10*s.moments.trace)-low)/gridStep), 1) {
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
	done = done || steps >= longestChoice || steps > 4 && f(best)-f(c.best) < worth
	c.best, c.check = best, steps+1+steps/4
	if done {
		if err := s.settle(ctx, math.Exp(best), s.remainder(c.factor(values, vectors)), rand.New(rand.NewPCG(uint64(c.seed), 0))); err != nil {
			return err
		}
		s.steps = steps
		return nil
	}
	s.choice = c
	s.steps++
	return nil
}

// ritz returns the eigenvalues Θ of QᵀSQ, negative ones replaced by 0, and the eigenvectors V.
func (c *choice) ritz(ctx context.Context) (values []float64, vectors dense.Matrix[float64], err error) {
	size := c.section.Rows
	symmetric := mat.NewSymDense(size, c.section.Data)
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

// factor returns B = QVΘ^½. BBᵀ equals S within the space.
func (c *choice) factor(values []float64, vectors dense.Matrix[float64]) dense.Matrix[float64] {
	scaled := vectors.Clone()
	for i := range scaled.Rows {
		row := scaled.Row(i)
		for j, v := range values {
			row[j] *= math.Sqrt(v)
		}
	}
	b := dense.New[float64](c.basis[0].Rows, scaled.Cols)
	at := 0
	for _, q := range c.basis {
		if at == scaled.Rows {
			break // section has no rows for the last block
		}
		matmul.Mul(1, q, scaled.RowRange(at, at+q.Cols), 1, b)
		at += q.Cols
	}
	return b
}

// curve returns the evidence plus a constant as a function of log λ. all says that the space
// contains all eigenvectors of S with nonzero eigenvalues.
func (p *problem) curve(start dense.Matrix[float64], values []float64, vectors dense.Matrix[float64], all bool) func(log float64) float64 {
	size, outputs := len(values), len(p.moments.targets)
	width := float64(len(p.moments.mean))
	squares := dense.New[float64](size, outputs) // (VᵀQᵀb)²
	counts := make([]float64, size)              // estimated numbers of eigenvalues near each θ
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
		for j, all := range p.moments.squares {
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

// settle sets λ, adds λ to the preconditioner condition, adds √λ·ε₂ to the right sides of samples,
// and starts all columns.
func (s *solver) settle(ctx context.Context, ratio float64, condition *nystroem, rng *rand.Rand) error {
	condition.shift += ratio
	if err := condition.prepare(ctx); err != nil {
		return err
	}
	s.ratio, s.condition, s.choice = ratio, condition, choice{}
	root := math.Sqrt(ratio)
	for i := range s.right.Rows {
		row := s.right.Row(i)[len(s.moments.targets):]
		for j := range row {
			row[j] += root * rng.NormFloat64()
		}
	}
	s.columns = newColumns(s.right, s.right.Cols-len(s.moments.targets))
	s.wide = unit[float64]() == s.unit
	s.restart(s.condition)
	return nil
}
