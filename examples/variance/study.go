package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// study says what to measure, and with which estimators.
type study struct {
	options
	estimators  []estimator
	projections []frequencies
	x, y        dense.Matrix[float64]
}

// points returns the pairs of points: directions uniform on the sphere, all of the same norm.
func (o options) points(src rand.Source) (x, y dense.Matrix[float64]) {
	rng := rand.New(src)
	draw := func() dense.Matrix[float64] {
		p := dense.New[float64](o.pairs, o.d)
		for i := range p.Rows {
			row := p.Row(i)
			for j := range row {
				row[j] = rng.NormFloat64()
			}
			floats.Scale(o.norm/floats.Norm(row, 2), row)
		}
		return p
	}
	return draw(), draw()
}

// measurement is the error of a map with m frequencies of a kind.
type measurement struct {
	estimator
	m int
	validate.Compared
	law float64 // NaN if none is known
}

// z returns the distance of the error from its law in standard errors, or NaN.
func (r measurement) z() float64 {
	if r.MSEStdErr == 0 {
		return math.NaN()
	}
	return (r.MSE - r.law) / r.MSEStdErr
}

// measure draws all maps, one after another, and returns a row for each estimator, number of
// frequencies and projection.
func (s *study) measure(src rand.Source) ([]measurement, error) {
	var rows []measurement
	for _, e := range s.estimators {
		spec, err := e.spec(s.x, s.y)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.kernel, e.features, err)
		}
		for _, m := range s.frequencies() {
			compared, err := validate.Compare(context.Background(), s.methods(spec, m), s.x, s.y, s.draws, src)
			if err != nil {
				return nil, fmt.Errorf("%s %s, m = %d: %w", e.kernel, e.features, m, err)
			}
			for i, c := range compared.Methods {
				law, err := s.law(spec, s.projections[i], m, src)
				if err != nil {
					return nil, err
				}
				rows = append(rows, measurement{e, m, c, law})
			}
		}
	}
	return rows, nil
}

// methods returns the ways to draw maps that are compared with each other.
func (s *study) methods(spec rff.Spec, m int) []validate.Method[float64] {
	methods := make([]validate.Method[float64], len(s.projections))
	for i, p := range s.projections {
		methods[i] = validate.Method[float64]{Name: p.title, Draw: func(src rand.Source) (rff.Map[float64], error) {
			return s.draw(spec, p, m, src)
		}}
	}
	return methods
}

func (s *study) draw(spec rff.Spec, p frequencies, m int, src rand.Source) (rff.Map[float64], error) {
	w, err := orf.Draw[float64](p.ensemble, m, s.d, src)
	if err != nil {
		return nil, err
	}
	return rff.Draw(spec, w)
}

// law returns the exact mean squared error over the pairs, NaN if none is known.
func (s *study) law(spec rff.Spec, p frequencies, m int, src rand.Source) (float64, error) {
	drawn, err := s.draw(spec, p, m, src)
	if err != nil {
		return 0, err
	}
	var sum float64
	for i := range s.x.Rows {
		sum += validate.Theory(drawn, nil, s.x.Row(i), s.y.Row(i)).MSE
	}
	return sum / float64(s.x.Rows), nil
}
