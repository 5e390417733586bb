package ard

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// search climbs the evidence of rows. Its places x are the logarithms of the relevance of the columns
// that vary, and then, while it climbs, log λ, unless λ is given.
type search[T dense.Float] struct {
	ctx   context.Context
	frame frame[T]
	view  *survey[T]
	rows  ridge.Rows[T]
	n     int
	o     Options

	path   []Step
	now    trial[T] // the last place
	best   trial[T]
	failed error // of the last place that could not be fitted
	fatal  error // that ends the search
}

// trial is a place and what is there. A nil model could not be fitted.
type trial[T dense.Float] struct {
	x     []float64
	model *ridge.Model[T]
	value float64
}

// gain is the evidence that three iterations gain for each target, below which a search ends. It
// changes errors by the same part of them.
const gain = 1e-3

// climb returns the best place that L-BFGS finds from x on.
func (s *search[T]) climb(start int, x []float64) (trial[T], error) {
	s.now, s.best = trial[T]{}, trial[T]{value: math.Inf(-1)}
	if !s.at(x) {
		return s.best, s.end()
	}
	if o := s.o.Options; o.Ratio == 0 && (o.Noise == 0 || o.Prior == 0) {
		x = append(slices.Clone(x), math.Log(s.now.model.Noise()[0]/s.now.model.Prior()[0]))
	}
	iterations := &record{step: func(value float64, iteration int) {
		step := Step{Rows: s.n, Start: start, Iteration: iteration, LogEvidence: value}
		s.path = append(s.path, step)
		if s.o.Progress != nil {
			s.o.Progress(step)
		}
	}}
	// A line search that finds no better place is the end like any other.
	_, _ = optimize.Minimize(optimize.Problem{
		Func: s.loss, Grad: s.slope,
		Status: func() (optimize.Status, error) {
			if s.fatal != nil {
				return optimize.Failure, s.fatal
			}
			return optimize.NotTerminated, nil
		},
	}, x, &optimize.Settings{
		MajorIterations: s.o.Iterations, Recorder: iterations,
		Converger: &optimize.FunctionConverge{Absolute: gain * float64(s.n) * float64(s.view.outputs), Iterations: 3},
	}, &optimize.LBFGS{})
	return s.best, s.end()
}

// end returns why the search found nothing, or could not go on.
func (s *search[T]) end() error {
	switch {
	case s.fatal != nil:
		return s.fatal
	case s.best.model == nil:
		return s.failed
	}
	return nil
}

// loss returns −log evidence at x, +Inf where no fit is possible.
func (s *search[T]) loss(x []float64) float64 {
	if !s.at(x) {
		return math.Inf(1)
	}
	return -s.now.value
}

// slope writes the gradient of loss into dst, zeros where no fit is possible.
func (s *search[T]) slope(dst, x []float64) {
	clear(dst)
	if !s.at(x) {
		return
	}
	e, err := s.frame.gradient(s.ctx, s.rows, s.now.model, s.o.NoIntercept)
	if err != nil {
		s.fatal = err
		return
	}
	for i, j := range s.view.varying {
		dst[i] = e.Scales[j] // by log(1/ℓ) the sign is the other one
	}
	if i := len(s.view.varying); i < len(dst) {
		// With s² given σ² follows λ, and otherwise s² does; a σ² of maximum evidence counts for nothing.
		for j, v := range e.Prior {
			if s.o.Prior > 0 {
				v = -e.Noise[j]
			}
			dst[i] += v
		}
	}
}

// at fits the model at x unless that is the last place, and reports whether it could.
func (s *search[T]) at(x []float64) bool {
	if slices.Equal(s.now.x, x) {
		return s.now.model != nil
	}
	o := s.o.Options
	if i := len(s.view.varying); i < len(x) {
		o.Ratio = math.Exp(x[i])
	}
	s.now = trial[T]{x: slices.Clone(x)}
	var err error
	if s.now.model, err = s.fit(s.view.rates(x), o); err != nil {
		s.failed = err
		return false
	}
	s.now.value = s.now.model.LogEvidence()
	if s.now.value > s.best.value {
		s.best = s.now
	}
	return true
}

// fit fits the model at the rates. An error of rows and the end of ctx are fatal.
func (s *search[T]) fit(rates []float64, o ridge.Options) (*ridge.Model[T], error) {
	if s.fatal != nil {
		return nil, s.fatal
	}
	phi, err := s.frame.at(rates)
	if err != nil {
		return nil, err
	}
	sums, err := ridge.Sum(s.ctx, phi, s.rows)
	if err != nil {
		s.fatal = err
		return nil, err
	}
	m, err := sums.Fit(s.ctx, o)
	if stop := s.ctx.Err(); stop != nil {
		s.fatal = stop
	}
	return m, err
}

// record calls step after each iteration.
type record struct {
	step       func(value float64, iteration int)
	iterations int
}

func (*record) Init() error { return nil }

func (r *record) Record(l *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op == optimize.MajorIteration {
		r.iterations++
		r.step(-l.F, r.iterations)
	}
	return nil
}
