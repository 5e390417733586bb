package ard

import (
	"context"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// SumSlope returns the model of the weights a of maps and λ, for x_k = log(a_k/λ), and its gradient by x.
func SumSlope[T dense.Float](ctx context.Context, maps []rff.Map[T], rows ridge.Rows[T], x []float64, o Options) (*ridge.Model[T], []float64, error) {
	f, err := newSumFitter(ctx, maps, rows, o)
	if err != nil {
		return nil, nil, err
	}
	m, _, err := f.fit(x)
	if err != nil {
		return nil, nil, err
	}
	slope := make([]float64, len(x))
	if err := f.slope(slope, m); err != nil {
		return nil, nil, err
	}
	floats.Scale(-1, slope)
	return m.(*ridge.Model[T]), slope, nil
}
