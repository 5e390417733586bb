package automl

import (
	"context"
	"iter"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/ridge"
)

// everyTail has the ν that Fit tries.
var everyTail = []float64{math.Inf(1), 10, 6, 4, 3, 2, 1.5}

// reweighted is rows with the weights
//
//	ω_i = w_i·(ν + p)/(ν + w_i·( Σ_j r_ij²/σ_j² + p·g_i )),  g_i = (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω,
//
// for their own weights w and the residuals r (n×p) and noise σ² of the model. The noise of a row
// is Student-t, normal with a variance σ²/ω that is unknown, and ω_i is the mean of ω.
type reweighted[T dense.Float] struct {
	ctx  context.Context
	rows ridge.Rows[T]
	m    *ridge.Model[T]
	nu   float64
}

// Blocks yields the rows with their weights.
func (r reweighted[T]) Blocks() iter.Seq2[ridge.Block[T], error] {
	return func(yield func(ridge.Block[T], error) bool) {
		for b, err := range r.rows.Blocks() {
			if err == nil {
				b.Weights, err = r.weights(b)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// weights returns ω of the rows of b.
func (r reweighted[T]) weights(b ridge.Block[T]) ([]T, error) {
	d, _ := r.m.Map().Dims()
	p := len(r.m.Noise())
	if err := b.Check(d, p); err != nil {
		return nil, err
	}
	if math.IsInf(r.nu, 1) {
		return b.Weights, nil
	}
	rest, g, err := residuals(r.ctx, r.m, b)
	weights := make([]T, b.X.Rows)
	for i, v := range g {
		square := floats.Dot(rest.Row(i), rest.Row(i)) + float64(p)*v
		w := b.Weight(i)
		weights[i] = T(w * (1 + float64(p)/r.nu) / (1 + w*square/r.nu))
	}
	return weights, err
}

// residuals returns (y_ij − f_j(x_i))/σ_j and g_i of the rows of b. The error is the error of ctx.
func residuals[T dense.Float](ctx context.Context, m *ridge.Model[T], b ridge.Block[T]) (rest dense.Matrix[float64], g []float64, err error) {
	rest, g = dense.New[float64](b.Y.Rows, b.Y.Cols), make([]float64, b.Y.Rows)
	err = interrupt.Rows(ctx, len(g), patience, func(lo, hi int) {
		mean, sd := m.Posterior(b.X.RowRange(lo, hi))
		for j, v := range m.Noise() {
			for i := lo; i < hi; i++ {
				rest.Set(i, j, (float64(b.Y.At(i, j))-float64(mean.At(i-lo, j)))/math.Sqrt(v))
				s := float64(sd.At(i-lo, j))
				g[i] = s * s / v
			}
		}
	})
	return rest, g, err
}

// patience is the number of rows that are predicted between looks at a context.
const patience = 128

// student fits models with Student-t noise of ν degrees of freedom, each with the weights of the fit
// before and the first with those of of.m. It returns the last fit and its rows.
func student[T dense.Float](of reweighted[T], ratio, nu float64) (m *ridge.Model[T], _ reweighted[T], err error) {
	m, of.nu = of.m, nu
	for k := 0; k < 8 && !math.IsInf(nu, 1) && err == nil; k++ {
		of.m = m
		m, err = regress(of.ctx, m.Map(), of, ratio)
	}
	return m, of, err
}

// leaveOut returns the sizes of the errors of leave-one-out at rows of the fit, in units of the
// scales σ_j·√(1/w_i + g_i/(1 − ω_i·g_i)), and these scales. b must have weights.
func (r reweighted[T]) leaveOut(m *ridge.Model[T], b ridge.Block[T]) (ratios, scales dense.Matrix[float64], err error) {
	weights, err := r.weights(b)
	if err != nil {
		return ratios, scales, err
	}
	ratios, g, err := residuals(r.ctx, m, b)
	if err != nil {
		return ratios, scales, err
	}
	scales = ratios.Clone()
	noise := m.Noise()
	for i, v := range g {
		rest := max(1-float64(weights[i])*v, 1e-9)
		scale := math.Sqrt(1/b.Weight(i) + v/rest)
		for j, e := range ratios.Row(i) {
			ratios.Set(i, j, math.Abs(e)/rest/scale)
			scales.Set(i, j, math.Sqrt(noise[j])*scale)
		}
	}
	return ratios, scales, nil
}

// tail returns the ν of the largest likelihood of leave-one-out at rows of b, or +Inf unless the
// log-likelihood exceeds that of normal noise by 2 and 0.02 a row. With normal noise and learnt
// length-scales it exceeds it by up to 0.02 a row.
func (s *search) tail(found *choice, b ridge.Block[float64]) (float64, error) {
	b = b.RowRange(0, min(sampleRows, b.X.Rows))
	phi, err := build[float64](s.ctx, found.space, found.kernel, b.X.RowRange(0, min(500, s.Landmarks, b.X.Rows)))
	if err != nil {
		return 0, err
	}
	of := reweighted[float64]{ctx: s.ctx, rows: b}
	if of.m, err = regress(s.ctx, phi, b, found.ratio); err != nil {
		return 0, err
	}
	best, most := math.Inf(1), math.Inf(-1)
	for _, nu := range everyTail {
		at, err := of.likelihood(b, found.ratio, nu)
		if s.ctx.Err() != nil {
			return 0, s.ctx.Err()
		}
		if math.IsInf(nu, 1) {
			at += 2 + 0.02*float64(b.X.Rows)
		}
		if err == nil && at > most {
			best, most = nu, at
		}
	}
	return best, nil
}

// likelihood returns the log density of the errors of leave-one-out of a fit to b by student.
func (r reweighted[T]) likelihood(b ridge.Block[T], ratio, nu float64) (sum float64, err error) {
	m, of, err := student(r, ratio, nu)
	if err != nil {
		return 0, err
	}
	ratios, scales, err := of.leaveOut(m, b)
	if err != nil {
		return 0, err
	}
	p := float64(ratios.Cols)
	high, _ := math.Lgamma((nu + p) / 2)
	low, _ := math.Lgamma(nu / 2)
	for i := range ratios.Rows {
		square := floats.Dot(ratios.Row(i), ratios.Row(i))
		if math.IsInf(nu, 1) {
			sum -= (p*math.Log(2*math.Pi) + square) / 2
		} else {
			sum += high - low - p/2*math.Log(nu*math.Pi) - (nu+p)/2*math.Log1p(square/nu)
		}
		for _, v := range scales.Row(i) {
			sum -= math.Log(v)
		}
	}
	return sum, nil
}
