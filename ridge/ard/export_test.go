package ard

import (
	"context"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// SumSlope returns the model of the weights a of maps and λ, for x_k = log(a_k/λ), and its gradient by x.
func SumSlope[T dense.Float](ctx context.Context, maps []rff.Map[T], rows ridge.Rows[T], x []float64, o Options) (*ridge.Model[T], []float64, error) {
	s, err := newSumSearch(ctx, maps, rows, o)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.fit(x)
	if err != nil {
		return nil, nil, err
	}
	return m, gradient(m, maps), nil
}
