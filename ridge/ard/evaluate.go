package ard

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/instance"
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
	return instance.Of(&evaluateBoth, Evaluate[T])(ctx, psi, rows, scales, o)
}

var evaluateBoth = instance.Both{evaluate[float32], evaluate[float64]}

func evaluate[T dense.Float](ctx context.Context, psi rff.Map[T], rows ridge.Rows[T], scales []float64, o ridge.Options) (*Evaluation[T], error) {
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
	f := frame[T]{psi: psi, means: make([]float64, d)}
	phi, err := f.at(rates)
	if err != nil {
		return nil, err
	}
	sums, err := ridge.Sum(ctx, phi, rows)
	if err != nil {
		return nil, err
	}
	m, err := sums.Fit(ctx, o)
	if err != nil {
		return nil, err
	}
	return f.gradient(ctx, rows, m, o.NoIntercept)
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

// frame is what scales leave as it is.
type frame[T dense.Float] struct {
	psi    rff.Map[T]
	means  []float64  // c, of the columns
	centre rff.Map[T] // x − c; nil for x
}

// about returns the frame of psi at points about the means, rounded to T. The means are subtracted
// before rates multiply the points: products with large means would round small differences away.
func about[T dense.Float](psi rff.Map[T], means []float64) (frame[T], error) {
	f := frame[T]{psi: psi, means: make([]float64, len(means))}
	b := make([]T, len(means))
	for j, m := range means {
		b[j] = -T(m)
		f.means[j] = float64(T(m))
	}
	var err error
	f.centre, err = diagonal(ones(len(means)), b)
	return f, err
}

// at returns the map ψ((x − c)·rates).
func (f frame[T]) at(rates []float64) (rff.Map[T], error) {
	scale, err := diagonal[T](rates, nil)
	if err != nil {
		return nil, err
	}
	phi, err := rff.Compose(scale, f.psi)
	if err != nil || f.centre == nil {
		return phi, err
	}
	return rff.Compose(f.centre, phi)
}

// diagonal returns the map x_j·rates_j + b_j.
func diagonal[T dense.Float](rates []float64, b []T) (rff.Map[T], error) {
	a := dense.New[T](len(rates), len(rates))
	for j, r := range rates {
		a.Set(j, j, T(r))
	}
	return rff.Affine(a, b)
}

// gradientRows is the largest number of rows whose gradients are in memory together.
const gradientRows = 1024

// gradient returns the derivatives at m, a model of rows whose map is one of at.
func (f frame[T]) gradient(ctx context.Context, rows ridge.Rows[T], m *ridge.Model[T], noIntercept bool) (*Evaluation[T], error) {
	phi := m.Map().(rff.Differentiable[T])
	d, width := phi.Dims()
	noise, prior := m.Noise(), m.Prior()
	e := &Evaluation[T]{
		Model: m, Scales: make([]float64, d), Noise: make([]float64, len(noise)), Prior: make([]float64, len(noise)),
	}
	count, squares := 0.0, make([]float64, len(noise))
	// A part takes about as long for many features as for few.
	some := max(gradientRows/8, min(gradientRows, int(0x1p30/float64(width)/float64(width))))
	w, offset := m.Weights()
	var dphi, dx dense.Matrix[T]
	for b, err := range rows.Blocks() {
		if err != nil {
			return nil, err
		}
		for lo := 0; lo < b.X.Rows; lo += some {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			part := slice(b, lo, min(lo+some, b.X.Rows))
			if n := part.X.Rows; dphi.Rows != n {
				dphi, dx = dense.New[T](n, width), dense.New[T](n, d)
			}
			if dphi, err = m.Gradient(dphi, part.X, part.Y, part.Weights); err != nil {
				return nil, err
			}
			phi.Backward(dx, part.X, dphi)
			features := phi.Transform(dphi, part.X)
			for i := range part.X.Rows {
				weight := weightOf(part, i)
				if weight == 0 {
					continue
				}
				count++
				x := part.X.Row(i)
				for j, v := range dx.Row(i) {
					e.Scales[j] -= float64(v) * (float64(x[j]) - f.means[j])
				}
				// Means of T would round residuals of large targets away.
				for j := range squares {
					r := float64(part.Y.At(i, j)) - offset[j]
					for l, v := range features.Row(i) {
						r -= float64(v) * w.At(l, j)
					}
					squares[j] += weight * r * r
				}
			}
		}
	}
	degrees := m.DegreesOfFreedom()
	if !noIntercept {
		degrees--
		count--
	}
	for j := range e.Noise {
		size := 0.0
		for i := range w.Rows {
			size += w.At(i, j) * w.At(i, j) / prior[j]
		}
		e.Prior[j] = 0.5 * (size - degrees)
		e.Noise[j] = 0.5*(squares[j]/noise[j]+size-count) - e.Prior[j]
	}
	return e, nil
}

// slice returns the rows lo ≤ i < hi.
func slice[T dense.Float](b ridge.Block[T], lo, hi int) ridge.Block[T] {
	part := ridge.Block[T]{X: b.X.RowRange(lo, hi), Y: b.Y.RowRange(lo, hi)}
	if b.Weights != nil {
		part.Weights = b.Weights[lo:hi]
	}
	return part
}

// weightOf returns the weight of row i.
func weightOf[T dense.Float](b ridge.Block[T], i int) float64 {
	if b.Weights == nil {
		return 1
	}
	return float64(b.Weights[i])
}
