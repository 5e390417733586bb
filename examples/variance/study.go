package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// study is what was measured, and with what.
type study struct {
	options
	estimator
	x, y  dense.Matrix[float64]
	cells []cell
}

// cell is the error of one projection with m frequencies.
type cell struct {
	m          int
	projection projection
	validate.ComparisonRow
	law float64 // NaN if none is known
}

// points returns the pairs of points: directions uniform on the sphere, all of
// the same norm.
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

// measure draws all maps, one after another in the order of the table, and calls
// step after each.
func (o options) measure(e estimator, x, y dense.Matrix[float64], src rand.Source, step func()) (*study, error) {
	s := &study{options: o, estimator: e, x: x, y: y}
	for _, m := range o.frequencies() {
		methods := make([]validate.Method[float64], len(projections))
		for i, p := range projections {
			methods[i] = validate.Method[float64]{Name: p.name, Draw: func(src rand.Source) (rff.Map[float64], error) {
				defer step()
				w, err := p.draw(m, o.d, src)
				if err != nil {
					return nil, err
				}
				return e.features(w)
			}}
		}
		compared, err := validate.Compare(x, y, o.draws, src, methods)
		if err != nil {
			return nil, fmt.Errorf("m = %d: %w", m, err)
		}
		for i, row := range compared.Methods {
			s.cells = append(s.cells, cell{m: m, projection: projections[i], ComparisonRow: row, law: s.law(projections[i], m)})
		}
	}
	return s, nil
}

// law returns the exact mean squared error over the pairs, NaN if there is none.
func (s *study) law(p projection, m int) float64 {
	exact, ok := s.laws[p.name]
	if !ok {
		return math.NaN()
	}
	var sum float64
	for i := range s.x.Rows {
		sum += exact(s.x.Row(i), s.y.Row(i), m)
	}
	return sum / float64(s.x.Rows)
}

// z returns how many standard errors the measured error is from the law, NaN if
// there is no law or every draw had the same error.
func (c cell) z() float64 {
	if c.Variance.StdErr == 0 {
		return math.NaN()
	}
	return (c.Variance.MSE - c.law) / c.Variance.StdErr
}

// bias returns the largest |z| of the bias over the pairs.
func (c cell) bias() float64 {
	_, z := c.Bias.Worst()
	return math.Abs(z)
}
