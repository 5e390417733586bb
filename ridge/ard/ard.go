package ard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Options are the parameters of Fit. The zero value is the usual choice.
type Options struct {
	// Options are the options of every fit. Fit learns variances that Options does not give
	// together with the scales.
	ridge.Options

	// MaxIterations is the largest number of iterations of each search; 0 for 60.
	MaxIterations int

	// Sample is the number of rows in the sample for the first searches; 0 for 4·D, at least 2000.
	// The sample has all rows if there are no more.
	Sample int

	// Fit calls Progress, unless Progress is nil, after every iteration, on the goroutine of the
	// caller.
	Progress func(Step)
}

// check returns an error unless the options are in range.
func (o Options) check() error {
	if o.MaxIterations < 0 {
		return fmt.Errorf("ard: MaxIterations = %d, want at least 0", o.MaxIterations)
	}
	if o.Sample < 0 {
		return fmt.Errorf("ard: Sample = %d, want at least 0", o.Sample)
	}
	return nil
}

// Step describes an iteration of a search.
type Step struct {
	Rows        int     // number of rows of the search: of the sample, or all
	Start       int     // 0 for one relevance of all columns; 1 for scales of single columns
	Iteration   int     // from 1 on
	LogEvidence float64 // of these rows
}

// Result is the result of Fit.
type Result[T dense.Float] struct {
	// Model is the model of all rows. The map of Model applies psi to the scaled points.
	Model *ridge.Model[T]

	// Scales are the length-scales ℓ_j, in units of column j times the length-scale of psi. The
	// scale of a constant column is +Inf.
	Scales []float64

	// Relevance is σ_j/ℓ_j for each column, where σ_j is the standard deviation of column j. The
	// function varies strongly along a column of relevance 1 or more, is nearly linear along a
	// column of 0.1, and does not depend on a column of 0.01 or less. Equal columns share their
	// relevance.
	Relevance []float64
}

// Fit learns a length-scale for each column of the points from the evidence, and fits a model with
// the features φ(x) = ψ((x − c)/ℓ) for ψ = psi and the means c of the columns. psi must be
// rff.Differentiable and have the length-scale 1 if it has a length-scale. A usual psi is Gaussian
// or Matern. src draws a sample of the rows, on which Fit searches from the starts of
// docs/regression.md. Fit continues on all rows from the best result. A search is L-BFGS on log ℓ
// and log λ [Liu & Nocedal 1989], and ends when three iterations gain less than 10⁻³ per target.
//
// Cost: each iteration takes two passes over its rows, n·3D²/2 multiply-adds in float64 and 3n
// transforms, and D³/3 multiply-adds. A search takes 20 to 60 iterations from each start, and about
// ten on all rows. Memory: that of a fit, 1024·D numbers for gradients, and the sample. The result
// does not depend on GOMAXPROCS.
//
// The error reports a nil psi, rows or src, a psi without derivatives, options out of range, the
// row of a point or target that is NaN or infinite, columns that are all constant, errors of rows,
// the errors of Sums.Fit if no start can be fitted, and the end of ctx. A nil ctx panics.
func Fit[T dense.Float](ctx context.Context, psi rff.Map[T], rows ridge.Rows[T], o Options, src rand.Source) (*Result[T], error) {
	if err := argument.Context("ard", ctx); err != nil {
		return nil, err
	}
	if err := check(psi, rows); err != nil {
		return nil, err
	}
	if src == nil {
		return nil, errors.New("ard: src is nil, want a source of randomness")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	d, width := psi.Dims()
	if o.MaxIterations == 0 {
		o.MaxIterations = 60
	}
	if o.Sample == 0 {
		o.Sample = max(4*width, 2000)
	}
	s, err := learn(ctx, newPoints(psi, rows), src, o)
	if err != nil {
		return nil, err
	}
	v, rates := s.view, s.view.rates(s.best.x)
	r := &Result[T]{Scales: make([]float64, d), Relevance: make([]float64, d)}
	for j, rate := range rates {
		r.Scales[j], r.Relevance[j] = 1/rate, v.deviations[j]*rate
	}
	m, _, err := s.all.fit(ctx, rates, o.Options)
	if err != nil {
		return nil, err
	}
	r.Model = m.(*ridge.Model[T])
	return r, nil
}

// check returns an error if psi is nil or has no derivatives, or if rows is nil.
func check[T dense.Float](psi rff.Map[T], rows ridge.Rows[T]) error {
	if psi == nil {
		return errors.New("ard: psi is nil, want a feature map")
	}
	if rows == nil {
		return errors.New("ard: rows is nil, want data")
	}
	back, ok := psi.(rff.Differentiable[T])
	if !ok {
		return fmt.Errorf("ard: psi is %v, want a Differentiable map", psi)
	}
	if err := back.CanBackward(); err != nil {
		return fmt.Errorf("ard: psi has no derivatives: %w", err)
	}
	return nil
}
