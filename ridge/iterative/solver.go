package iterative

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Options are the parameters of a fit. With the zero value, Fit returns means without error bars,
// for the λ of maximum evidence.
type Options struct {
	// Options are the options of package ridge. If they do not determine λ, the solver chooses the
	// λ of maximum evidence.
	ridge.Options

	// Rank is the rank r of the preconditioner if λ is given, at most n and D. 0 stands for
	// min(256, D/16), at least 16, and −1 for no preconditioner. Its pass over the rows takes r/k
	// times as long as a step with k columns, and it keeps D·r numbers. A larger rank pays if many
	// steps are needed: for a small λ and many rows.
	Rank int

	// Samples is the number S of samples of the posterior, from which standard deviations and the
	// evidence are estimated: 0 for neither, or at least 2. Passes with 16 columns, outputs and
	// samples together, take hardly longer than passes with one.
	Samples int

	// Tolerance bounds the root mean square error of the means at the rows, in units of the
	// standard deviation of the targets; 0 for 10⁻⁴.
	Tolerance float64
}

// check returns an error unless the options are in range.
func (o Options) check() error {
	if err := o.Options.Check(); err != nil {
		return err
	}
	switch {
	case o.Rank < -1:
		return fmt.Errorf("iterative: Rank = %d, want at least −1", o.Rank)
	case o.Samples < 0 || o.Samples == 1:
		return fmt.Errorf("iterative: Samples = %d, want 0 or at least 2", o.Samples)
	case !(o.Tolerance >= 0 && o.Tolerance <= 1):
		return fmt.Errorf("iterative: Tolerance = %v, want a number from 0 to 1", o.Tolerance)
	}
	return nil
}

// Solver finds the weights of a regression in steps, each a pass over the rows. A Solver belongs to
// one goroutine.
type Solver[T dense.Float] struct {
	phi    rff.Map[T]
	source source[T]
	core   *solver
}

// solver is the part of a Solver that does not depend on T.
type solver struct {
	problem
	choice choice // until λ is chosen
	columns
}

// problem is the part of a solver that steps do not change once λ is chosen.
type problem struct {
	unit      float64 // unit roundoff of T
	moments   *moments
	opts      Options // with defaults in place of zeros
	ratio     float64 // λ, or 0 while it is chosen
	condition *nystroem
	right     dense.Matrix[float64] // right sides of the columns: outputs, then samples
}

// Fit returns the model of all rows, as New, Run and Model do. If the error is a *NotConverged, Fit
// also returns the model of the current weights. Other errors are errors of New, Run and Model.
func Fit[T dense.Float](ctx context.Context, phi rff.Map[T], rows ridge.Rows[T], o Options, src rand.Source) (*Model[T], error) {
	s, err := New(ctx, phi, rows, o, src)
	if err != nil {
		return nil, err
	}
	stop := s.Run(ctx, rows, RunOptions{})
	var late *NotConverged
	if stop != nil && !errors.As(stop, &late) {
		return nil, stop
	}
	m, err := s.Model()
	if err != nil {
		return nil, err
	}
	return m, stop
}

// New returns a solver whose weights are zero. New reads the rows once for the means of features
// and targets, once for the right sides, and once for the preconditioner if λ is given. Otherwise
// the first steps of Run choose λ and compute the preconditioner.
//
// Cost: n·D·(2r + p + S + 1) multiply-adds and 3n transforms. Memory: 8·D·(2r + 4(p + S)) bytes,
// D·r numbers of T during the third pass, and features of up to 256 rows or 4 Mi numbers; r = 0 if
// λ is not given.
//
// The error reports options out of range, a nil phi, rows or src, no rows, rows that
// ridge.Block.Check refuses, errors of rows, a single row or constant targets if the noise is not
// given, features that overflow, a λ that is too small for float64, sizes that memory cannot hold,
// and the end of ctx. New checks ctx every 256 rows. A nil ctx panics.
func New[T dense.Float](ctx context.Context, phi rff.Map[T], rows ridge.Rows[T], o Options, src rand.Source) (*Solver[T], error) {
	if err := argument.Context("iterative", ctx); err != nil {
		return nil, err
	}
	switch {
	case phi == nil:
		return nil, errors.New("iterative: phi is nil, want a feature map")
	case rows == nil:
		return nil, errors.New("iterative: rows is nil, want data")
	case src == nil:
		return nil, errors.New("iterative: src is nil, want a source of randomness")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	d, width := phi.Dims()
	if d < 1 || width < 1 {
		return nil, fmt.Errorf("iterative: phi maps R^%d to R^%d, want at least 1 and 1", d, width)
	}
	if o.Rank == 0 {
		o.Rank = max(16, min(256, width/16))
	}
	o.Rank = min(max(o.Rank, 0), width)
	if o.Tolerance == 0 {
		o.Tolerance = 1e-4
	}
	if err := limit.Memory[float64](width, o.Rank); err != nil {
		return nil, fmt.Errorf("iterative: Rank = %d for %d features: %w", o.Rank, width, err)
	}
	if err := limit.Memory[float64](width, o.Samples); err != nil {
		return nil, fmt.Errorf("iterative: Samples = %d for %d features: %w", o.Samples, width, err)
	}
	s := &Solver[T]{phi, newSource(phi), &solver{problem: problem{unit: unit[T](), moments: new(moments), opts: o, condition: new(nystroem)}}}
	if err := s.core.start(ctx, s.source.of(s.core.moments, rows), rand.New(src)); err != nil {
		return nil, err
	}
	return s, nil
}

// start does the passes of New.
func (s *solver) start(ctx context.Context, rows operator, rng *rand.Rand) error {
	o := s.opts
	ratio := o.Ratio
	if o.Noise > 0 && o.Prior > 0 {
		ratio = o.Noise / o.Prior
	}
	if err := s.begin(ctx, rows, ratio, rng); err != nil {
		return err
	}
	if ratio == 0 {
		s.choice = newChoice(s.right.ColRange(0, len(s.moments.targets)), rng)
		return nil
	}
	condition, err := s.sketch(ctx, rows, min(o.Rank, s.moments.count), rng)
	if err != nil {
		return err
	}
	return s.settle(ctx, ratio, condition, rng)
}

// begin computes the moments of the rows and the right sides. settle adds √λ·ε₂ to the right sides
// of samples later.
func (p *problem) begin(ctx context.Context, rows operator, ratio float64, rng *rand.Rand) error {
	o, opts := p.moments, p.opts
	if err := rows.survey(ctx, !opts.NoIntercept); err != nil {
		return err
	}
	outputs := len(o.targets)
	if err := limit.Memory[float64](len(o.mean), outputs+opts.Samples); err != nil {
		return fmt.Errorf("iterative: %d outputs and %d samples for %d features: %w", outputs, opts.Samples, len(o.mean), err)
	}
	if opts.Noise == 0 && opts.Prior == 0 && p.degrees() < 1 {
		return errors.New("iterative: 1 row tells nothing of the noise, want at least 2, or Noise and Prior")
	}
	if err := p.draw(ctx, rows, rng); err != nil {
		return err
	}
	switch least := p.least(); {
	case ratio > 0 && !(ratio > least) || math.IsInf(ratio, 0) || math.IsInf(o.trace, 0):
		return fmt.Errorf("iterative: Noise/Prior = %.3g, want more than %.3g, below which the rounding of float64 is felt", ratio, least)
	case ratio == 0 && !(least > 0):
		return errors.New("iterative: the features do not vary, which tells nothing of the signal: want Noise and Prior, or Ratio")
	}
	for j, v := range o.squares {
		if v == 0 && opts.Noise == 0 && opts.Prior == 0 {
			return fmt.Errorf("iterative: output %d does not vary, which tells nothing of its noise: want Noise or Prior", j)
		}
	}
	return nil
}

// least returns the λ at which rounding of float64 begins to matter.
func (p *problem) least() float64 {
	return 0x1p-40 * p.moments.trace / math.Sqrt(float64(len(p.moments.mean)))
}

// degrees returns the degrees of freedom of the targets.
func (p *problem) degrees() float64 {
	if p.opts.NoIntercept {
		return float64(p.moments.count)
	}
	return float64(p.moments.count - 1)
}

// draw sets the right sides to Φᵀ[Ωy Ω^½ε] with normal ε, and computes squares and trace.
func (p *problem) draw(ctx context.Context, rows operator, rng *rand.Rand) error {
	o := p.moments
	outputs := len(o.targets)
	o.squares = make([]float64, outputs)
	p.right = dense.New[float64](len(o.mean), outputs+p.opts.Samples)
	var norms []float64
	err := rows.pass(ctx, p.right, dense.Matrix[float64]{}, true, func(u, phi, y dense.Matrix[float64], weights []float64) {
		norms = scratch.Resize(norms, len(weights))
		parallel.Rows(phi.Rows, 1+rowGrain/phi.Cols, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				norms[i] = 2 * vecmath.HalfSquaredNorm(phi.Row(i))
			}
		})
		for i, w := range weights {
			o.trace += w * norms[i]
			row := u.Row(i)
			if w == 0 {
				clear(row)
				continue
			}
			for j, v := range y.Row(i) {
				e := v - o.targets[j]
				row[j] = w * e
				o.squares[j] += w * e * e
			}
			root := math.Sqrt(w)
			for j := outputs; j < len(row); j++ {
				row[j] = root * rng.NormFloat64()
			}
		}
	})
	if err != nil {
		return err
	}
	for j, v := range o.squares {
		if v-v != 0 {
			return fmt.Errorf("iterative: the sum of squares of output %d is %v, want a finite number: scale the targets", j, v)
		}
	}
	return argument.Finite("iterative: product of feature and column", p.right)
}
