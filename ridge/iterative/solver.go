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

// Options are the parameters of a fit. The zero value gives means alone, with the ratio λ of maximum
// evidence.
type Options struct {
	// Options are those of package ridge. A ratio λ that they leave open is that of maximum
	// evidence.
	ridge.Options

	// Rank is the rank r of the preconditioner for a λ that is given, at most n and D; 0 for
	// min(256, D/16), at least 16, and −1 for none. A pass over the rows for it takes 2r/(2k) times
	// as long as a step with k columns, and it keeps D·r numbers. A larger rank pays where many
	// steps are needed: small λ, many rows.
	Rank int

	// Samples is the number S of samples of the posterior, which standard deviations and the
	// evidence are estimated from; 0 for neither, and otherwise at least 2. 16 columns in all,
	// outputs and samples, take hardly longer than one.
	Samples int

	// Tolerance bounds the error of means at the rows, the root of their mean square, in units of
	// that of the targets about their mean; 0 for 10⁻⁴.
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

// Solver finds the weights of a regression in steps, each a pass over the rows. It can be written
// to a file after every step, and read again. A Solver belongs to one goroutine.
type Solver[T dense.Float] struct {
	phi    rff.Map[T]
	source source[T]
	core   *solver
}

// solver is what a Solver knows beside its map.
type solver struct {
	problem
	choice choice // until λ is settled
	columns
}

// problem is what steps do not change once λ is settled.
type problem struct {
	unit      float64 // rounding of T
	moments   *moments
	opts      Options // with the values that zeros stand for
	ratio     float64 // λ, 0 while it is chosen
	condition *nystroem
	right     dense.Matrix[float64] // right sides of all columns: those of outputs, and then of samples
}

// Fit returns the model of all rows: New, Run to the end and Model. If the error is a *NotConverged
// there is a model nevertheless, of the weights so far. Otherwise errors are those of New, Run and
// Model.
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

// New reads the rows three times and returns a solver whose weights are zero: for the means of
// features and targets, for the right sides, and for the preconditioner, where λ is given. A λ that
// is left open is chosen by the first steps of Run, which find their preconditioner too.
//
// Cost: n·D·(2r + p + S + 1) multiply-adds and 3n transforms. Memory: 8·D·(2r + 4(p + S)) bytes,
// D·r numbers of T meanwhile, and features of up to 256 rows or 4 Mi numbers; r = 0 where λ is open.
//
// An error reports options out of range, a nil phi, rows or src, no rows, rows that
// ridge.Block.Check refuses, errors of rows, one row or targets that do not vary where the noise is
// to be chosen, features that overflow, a λ that rounding of float64 would hide, sizes that no
// memory holds, and the end of ctx, which is noticed within 256 rows. A nil ctx panics.
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

// start takes the passes before the first step.
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
		s.choice = newChoice(s.right.ColRange(0, len(s.moments.Targets)), rng)
		return nil
	}
	condition, err := s.sketch(ctx, rows, min(o.Rank, s.moments.Count), rng)
	if err != nil {
		return err
	}
	return s.settle(ctx, ratio, condition, rng)
}

// begin surveys the rows and draws the right sides of samples, without what λ adds to them.
func (p *problem) begin(ctx context.Context, rows operator, ratio float64, rng *rand.Rand) error {
	o, opts := p.moments, p.opts
	if err := rows.survey(ctx, !opts.NoIntercept); err != nil {
		return err
	}
	outputs := len(o.Targets)
	if err := limit.Memory[float64](len(o.Mean), outputs+opts.Samples); err != nil {
		return fmt.Errorf("iterative: %d outputs and %d samples for %d features: %w", outputs, opts.Samples, len(o.Mean), err)
	}
	if opts.Noise == 0 && opts.Prior == 0 && p.degrees() < 1 {
		return errors.New("iterative: 1 row tells nothing of the noise, want at least 2, or Noise and Prior")
	}
	if err := p.draw(ctx, rows, rng); err != nil {
		return err
	}
	switch least := p.least(); {
	case ratio > 0 && !(ratio > least) || math.IsInf(ratio, 0) || math.IsInf(o.Trace, 0):
		return fmt.Errorf("iterative: Noise/Prior = %.3g, want more than %.3g, below which the rounding of float64 is felt", ratio, least)
	case ratio == 0 && !(least > 0):
		return errors.New("iterative: the features do not vary, which tells nothing of the signal: want Noise and Prior, or Ratio")
	}
	for j, v := range o.Squares {
		if v == 0 && opts.Noise == 0 && opts.Prior == 0 {
			return fmt.Errorf("iterative: output %d does not vary, which tells nothing of its noise: want Noise or Prior", j)
		}
	}
	return nil
}

// least returns the bound of λ below which rounding of float64 is felt.
func (p *problem) least() float64 {
	return 0x1p-40 * p.moments.Trace / math.Sqrt(float64(len(p.moments.Mean)))
}

// degrees returns the degrees of freedom of the targets.
func (p *problem) degrees() float64 {
	if p.opts.NoIntercept {
		return float64(p.moments.Count)
	}
	return float64(p.moments.Count - 1)
}

// draw sets the right sides to Φᵀ[Ωy Ω^½ε], ε normal, and finds the squares of targets and of
// features.
func (p *problem) draw(ctx context.Context, rows operator, rng *rand.Rand) error {
	o := p.moments
	outputs := len(o.Targets)
	o.Squares = make([]float64, outputs)
	p.right = dense.New[float64](len(o.Mean), outputs+p.opts.Samples)
	var norms []float64
	err := rows.pass(ctx, p.right, dense.Matrix[float64]{}, true, func(u, phi, y dense.Matrix[float64], weights []float64) {
		norms = scratch.Resize(norms, len(weights))
		parallel.Rows(phi.Rows, 1+rowGrain/phi.Cols, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				norms[i] = 2 * vecmath.HalfSquaredNorm(phi.Row(i))
			}
		})
		for i, w := range weights {
			o.Trace += w * norms[i]
			row := u.Row(i)
			if w == 0 {
				clear(row)
				continue
			}
			for j, v := range y.Row(i) {
				e := v - o.Targets[j]
				row[j] = w * e
				o.Squares[j] += w * e * e
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
	for j, v := range o.Squares {
		if v-v != 0 {
			return fmt.Errorf("iterative: the sum of squares of output %d is %v, want a finite number: scale the targets", j, v)
		}
	}
	return argument.Finite("iterative: product of feature and column", p.right)
}
