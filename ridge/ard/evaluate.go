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

// Evaluation is a model at given length-scales, and the derivatives of its log evidence L with
// respect to the logarithms of all parameters.
type Evaluation[T dense.Float] struct {
	Model  *ridge.Model[T]
	Scales []float64 // ∂L/∂log ℓ_j, for each column
	Noise  []float64 // ∂L/∂log σ², for each output
	Prior  []float64 // ∂L/∂log s², for each output
}

// Evaluate fits the model of the features ψ(x/ℓ), ψ = psi and ℓ = scales, and returns the
// derivatives of its evidence. Evaluate serves searches with priors or bounds of scales. A scale of
// +Inf removes its column.
//
// With the gradients g_i of Model.Gradient and the Jacobian J of ψ,
//
//	∂L/∂log ℓ_j = −Σ_i x_ij/ℓ_j·(J(x_i/ℓ)ᵀg_i)_j.
//
// The derivatives with respect to the variances of an output, with Q = Σω·(y − f(x))² + λ‖μ‖², and
// with n − 1 in place of n if there is an intercept, are
//
//	∂L/∂log s² = ½·( ‖μ‖²/s² − D + λ·tr A⁻¹ ),  ∂L/∂log σ² = ½·( Q/σ² − n ) − ∂L/∂log s².
//
// Variances that o does not give maximise the evidence, up to 10⁻³ of log λ. The sums of their
// derivatives over the outputs are then 0 up to this tolerance.
//
// Cost: two passes over the rows, n·3D²/2 multiply-adds in float64 and 3n transforms, and the cost
// of Sums.Fit. Memory: that of a fit, and 1024·D numbers of T. Gradients are numbers of T and their
// sums are float64: a derivative has an error of about u·Σ_i |terms|, u = 2⁻²⁴ or 2⁻⁵³.
//
// The error reports a nil psi or rows, a psi without derivatives, scales that are not a positive
// number for each column, the errors of ridge.Sum and Sums.Fit, and the end of ctx. A nil ctx
// panics.
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

// check returns an error if psi is nil or has no derivatives, or if rows is nil.
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
