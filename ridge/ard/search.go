package ard

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/seed-feabd252/randfeat/dense"
)

type search struct {
	ctx  context.Context
	o    Options
	rows int     // of the model
	gain float64 // of evidence in three iterations, below which the search ends

	// slope writes the gradient of −log evidence into dst. A fatal error ends the search.
	fit   func(x []float64) (m model, fatal bool, err error)
	slope func(dst []float64, m model) error

	now    trial // the latest
	best   trial
	failed error // of the latest fit that failed
	fatal  error // ends the search
}

type model interface {
	LogEvidence() float64
	Noise() []float64
	Prior() []float64
	Weights() (w dense.Matrix[float64], b []float64)
}

// trial is the model at x and its evidence. The model is nil if the fit failed.
type trial struct {
	x     []float64
	model model
	value float64
}

func (s *search) climb(start int, x []float64) error {
	iterations := &record{step: func(value float64, iteration int) {
		if s.o.Progress != nil {
			s.o.Progress(Step{Rows: s.rows, Start: start, Iteration: iteration, LogEvidence: value})
		}
	}}
	// An error of the line search also ends the search.
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

func (s *search) end() error {
	switch {
	case s.fatal != nil:
		return s.fatal
	case s.best.model == nil:
		return s.failed
	}
	return nil
}

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
