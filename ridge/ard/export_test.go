package ard

import (
	"context"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Evaluation is a model at length-scales, and the derivatives of its log evidence by the logarithms
// of all parameters.
type Evaluation[T dense.Float] struct {
	Model                *ridge.Model[T]
	Scales, Noise, Prior []float64
}

// Evaluate fits the model of the features ψ(x/ℓ), ψ = psi and ℓ = scales.
func Evaluate[T dense.Float](ctx context.Context, psi rff.Map[T], rows ridge.Rows[T], scales []float64, o ridge.Options) (*Evaluation[T], error) {
	rates := make([]float64, len(scales))
	for j, l := range scales {
		rates[j] = 1 / l
	}
	on := newPoints(psi, rows)
	fitted, _, err := on.fit(ctx, rates, o)
	if err != nil {
		return nil, err
	}
	e, err := on.derivatives(ctx, fitted, o.NoIntercept)
	return &Evaluation[T]{fitted.(*ridge.Model[T]), e.scales, e.noise, e.prior}, err
}
