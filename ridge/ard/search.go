package ard

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/seed-feabd252/randfeat/dense"
)

// search climbs the evidence of a model that some numbers x determine.
type search struct {
	ctx  context.Context
	o    Options
	rows int     // of the model
	gain float64 // the search ends when three iterations have gained less evidence

	// fit returns the model at x. slope writes the gradient of −log evidence at the model m into dst.
	// An error that ends the search is fatal.
	fit   func(x []float64) (m model, fatal bool, err error)
	slope func(dst []float64, m model) error

	path   []Step
	now    trial // the last place
	best   trial
	failed error // of the last place that could not be fitted
	fatal  error // that ends the search
}

// model is a ridge.Model.
type model interface {
	LogEvidence() float64
	Noise() []float64
	Prior() []float64
	Weights() (w dense.Matrix[float64], b []float64)
	FeatureDegrees() []float64
}

// trial is a place and what is there. A nil model could not be fitted.
type trial struct {
	x     []float64
	model model
	value float64
}

// reset forgets all places.
func (s *search) reset() { s.now, s.best = trial{}, trial{value: math.Inf(-1)} }

// climb leaves the best place that L-BFGS finds from x on in best.
func (s *search) climb(start int, x []float64) error {
	iterations := &record{step: func(value float64, iteration int) {
		step := Step{Rows: s.rows, Start: start, Iteration: iteration, LogEvidence: value}
		s.path = append(s.path, step)
		if s.o.Progress != nil {
			s.o.Progress(step)
		}
	}}
	// A line search that finds no better place is the end like any other.
	_, _ = optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 {
			if !s.at(x) {
				return math.Inf(1)
			}
			return -s.now.value
		},
		Grad: func(dst, x []float64) {
			clear(dst)
			if s.at(x) {
				if err := s.slope(dst, s.now.model); err != nil {
					s.fatal = err
				}
			}
		},
		Status: func() (optimize.Status, error) {
			if s.fatal != nil {
				return optimize.Failure, s.fatal
			}
			return optimize.NotTerminated, nil
		},
	}, x, &optimize.Settings{
		MajorIterations: s.o.MaxIterations, Recorder: iterations,
		Converger: &optimize.FunctionConverge{Absolute: s.gain, Iterations: 3},
	}, &optimize.LBFGS{})
	return s.end()
}

// end returns why the search found nothing, or could not go on.
func (s *search) end() error {
	switch {
	case s.fatal != nil:
		return s.fatal
	case s.best.model == nil:
		return s.failed
	}
	return nil
}

// at fits the model at x unless that is the last place, and reports whether it could.
func (s *search) at(x []float64) bool {
	if slices.Equal(s.now.x, x) {
		return s.now.model != nil
	}
	s.now = trial{x: slices.Clone(x)}
	if s.fatal != nil {
		return false
	}
	m, fatal, err := s.fit(x)
	if fatal {
		s.fatal = err
	}
	if stop := s.ctx.Err(); stop != nil {
		s.fatal = stop
	}
	if err != nil {
		s.failed = err
		return false
	}
	s.now.model, s.now.value = m, m.LogEvidence()
	if s.now.value > s.best.value {
		s.best = s.now
	}
	return true
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
