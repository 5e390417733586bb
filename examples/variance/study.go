package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

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

// columns are those of the table of all measurements.
const columns = "estimator kernel map d pairs norm draws seed m frequencies mse mse_stderr law z ratio ratio_stderr worst_bias_z"

// measure draws all maps, one after another in the order of the table, and returns the table.
func (s *study) measure(src rand.Source) (validate.Table, error) {
	var t validate.Table
	for key := range strings.FieldsSeq(columns) {
		t.Columns = append(t.Columns, validate.Column{Name: key, Key: key})
	}
	for _, e := range s.estimators {
		for _, m := range s.frequencies() {
			compared, err := validate.Compare(context.Background(), s.methods(e, m), s.x, s.y, s.draws, src)
			if err != nil {
				return t, fmt.Errorf("%s %s, m = %d: %w", e.kernel, e.features, m, err)
			}
			for i, row := range compared.Methods {
				law, err := s.law(e, s.projections[i], m, src)
				if err != nil {
					return t, err
				}
				t.Rows = append(t.Rows, s.cells(e, m, row, law))
			}
		}
	}
	return t, nil
}

// methods returns the ways to draw maps that are compared with each other.
func (s *study) methods(e estimator, m int) []validate.Method[float64] {
	methods := make([]validate.Method[float64], len(s.projections))
	for i, p := range s.projections {
		methods[i] = validate.Method[float64]{Name: p.title, Draw: func(src rand.Source) (rff.Map[float64], error) {
			return s.draw(e, p, m, src)
		}}
	}
	return methods
}

func (s *study) draw(e estimator, p frequencies, m int, src rand.Source) (rff.Map[float64], error) {
	w, err := orf.Draw[float64](p.ensemble, m, s.d, src)
	if err != nil {
		return nil, err
	}
	return e.make(w, s.x, s.y, src)
}

// law returns the exact mean squared error over the pairs, NaN if none is known.
func (s *study) law(e estimator, p frequencies, m int, src rand.Source) (float64, error) {
	drawn, err := s.draw(e, p, m, src)
	if err != nil {
		return 0, err
	}
	var sum float64
	for i := range s.x.Rows {
		sum += validate.Theory(drawn, nil, s.x.Row(i), s.y.Row(i)).MSE
	}
	return sum / float64(s.x.Rows), nil
}

// cells returns a row of the table.
func (s *study) cells(e estimator, m int, r validate.Compared, law float64) []any {
	_, bias := r.Worst()
	z := math.NaN()
	if r.MSEStdErr > 0 {
		z = (r.MSE - law) / r.MSEStdErr
	}
	cells := []any{
		e.title, e.kernel, e.features, s.d, s.pairs, s.norm, s.draws, fmt.Sprint(s.seed),
		m, r.Name, r.MSE, r.MSEStdErr, law, z, r.Ratio, r.RatioStdErr, math.Abs(bias),
	}
	for i, c := range cells {
		// No law, no spread, or nothing to compare with.
		if v, ok := c.(float64); ok && math.IsNaN(v) {
			cells[i] = nil
		}
	}
	return cells
}
