package ard

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Evaluation is a model at some length-scales, whose LogEvidence L is the value of the evidence, and
// the derivatives of L by the logarithms of all parameters, the others fixed.
type Evaluation[T dense.Float] struct {
	Model  *ridge.Model[T]
	Scales []float64 // ∂L/∂log ℓ_j, for each column
	Noise  []float64 // ∂L/∂log σ², for each output
	Prior  []float64 // ∂L/∂log s², for each output
}

// Evaluate fits the model of the features ψ(x/ℓ), ψ = psi and ℓ = scales, and returns its evidence
// with the derivatives: what a search for scales of your own needs, with priors of scales or other
// bounds. A scale of +Inf leaves its column out.
//
// With the gradients g_i of Model.Gradient and the Jacobian J of ψ,
//
//	∂L/∂log ℓ_j = −Σ_i x_ij/ℓ_j·(J(x_i/ℓ)ᵀg_i)_j.
//
// By the variances, with the squares Q = Σω·(y − f(x))² + λ‖μ‖² and n − 1 for n if there is an
// intercept, for each output,
//
//	∂L/∂log s² = ½·( ‖μ‖²/s² − D + λ·tr A⁻¹ ),  ∂L/∂log σ² = ½·( Q/σ² − n ) − ∂L/∂log s².
//
// Variances that o leaves open are those of maximum evidence, to 10⁻³ of log λ, where the sums of
// their derivatives over the outputs vanish up to that.
//
// Cost: two passes over rows, n·3D²/2 multiply-adds in float64 and n transforms three times over, and
// those of Sums.Fit. Memory: that of a fit, and 1024·D numbers of T. Gradients are numbers of T, and
// their sums float64: a derivative has an error of some u·Σ_i |its terms|, u = 2⁻²⁴ or 2⁻⁵³.
//
// An error reports a nil psi or rows, a psi without derivatives, scales that are not positive numbers
// for each column, the errors of ridge.Sum and Sums.Fit, and the end of ctx. A nil ctx panics.
func Evaluate[T dense.Float](ctx context.Context, psi rff.Map[T], rows ridge.Rows[T], scales []float64, o ridge.Options) (*Evaluation[T], error) {
	if err := argument.Context("ard", ctx); err != nil {
		return nil, err
	}
	if err := check(psi, rows); err != nil {
		return nil, err
	}
	d, _ := psi.Dims()
	if len(scales) != d {
		return nil, fmt.Errorf("ard: %d scales, want %d", len(scales), d)
	}
	rates := make([]float64, d)
	for j, l := range scales {
		if !(l > 0) {
			return nil, fmt.Errorf("ard: scales[%d] = %v, want a positive number", j, l)
		}
		rates[j] = 1 / l
	}
	on := newPoints(psi, rows)
	fitted, _, err := on.fit(ctx, rates, o)
	if err != nil {
		return nil, err
	}
	e, err := on.derivatives(ctx, fitted, o.NoIntercept)
	if err != nil {
		return nil, err
	}
	return &Evaluation[T]{Model: fitted.(*ridge.Model[T]), Scales: e.scales, Noise: e.noise, Prior: e.prior}, nil
}

// check returns an error unless psi has derivatives and there are rows.
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
