package automl

import (
	"context"
	"iter"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

var everyTail = []float64{math.Inf(1), 10, 6, 4, 3, 2, 1.5}

// reweighted is rows with the weights
//
//	ω_i = w_i·(ν + p)/(ν + w_i·( Σ_j r_ij²/σ_j² + p·g_i )),
//	g_i = (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω,
//
// for their own weights w and the residuals r (n×p) and noise σ² of the model. The noise of a row
// is Student-t, normal with a variance σ²/ω that is unknown, and ω_i is the mean of ω.
type reweighted[T dense.Float] struct {
	ctx  context.Context
	rows ridge.Rows[T]
	m    *ridge.Model[T]
	nu   float64
}

// Blocks yields the rows with weights for Student-t noise, which are small for outliers.
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

// With less, float32 rounds weights to 0, and an output of one such row does not vary.
const leastShare = 1e-30

func (r reweighted[T]) weights(b ridge.Block[T]) ([]T, error) {
	d, _ := r.m.Map().Dims()
	p := len(r.m.Noise())
	if err := b.Check(d, p); err != nil {
		return nil, err
	}
	if math.IsInf(r.nu, 1) {
		return b.Weights, nil
	}
	rest, g, _, err := residuals(r.ctx, r.m, b)
	weights := make([]T, b.X.Rows)
	for i, v := range g {
		square := floats.Dot(rest.Row(i), rest.Row(i)) + float64(p)*v
		w := b.Weight(i)
		weights[i] = T(w * max(leastShare, (1+float64(p)/r.nu)/(1+w*square/r.nu)))
	}
	return weights, err
}

// residuals returns (y_ij − f_j(x_i))/σ_j of the rows of b, and g_i and r_i of Model.Variances. The
// error is the error of ctx.
func residuals[T dense.Float](ctx context.Context, m *ridge.Model[T], b ridge.Block[T]) (rest dense.Matrix[float64], g, r []float64, err error) {
	rest, g, r = dense.New[float64](b.Y.Rows, b.Y.Cols), make([]float64, b.Y.Rows), make([]float64, b.Y.Rows)
	err = interrupt.Rows(ctx, len(g), patience, func(lo, hi int) {
		mean, own, lacking := m.Variances(b.X.RowRange(lo, hi))
		copy(g[lo:hi], own)
		copy(r[lo:hi], lacking)
		for j, v := range m.Noise() {
			for i := lo; i < hi; i++ {
				rest.Set(i, j, (float64(b.Y.At(i, j))-float64(mean.At(i-lo, j)))/math.Sqrt(v))
			}
		}
	})
	return rest, g, r, err
}

const patience = 128

// student fits models with Student-t noise of r.nu degrees of freedom. The first fit has the
// weights of r.m, and each other fit those of the fit before. student stops when the noise changes
// by less than 1 %, or after 30 fits. It returns the last fit and its rows.
func (r reweighted[T]) student(ratio float64) (m *ridge.Model[T], _ reweighted[T], err error) {
	m = r.m
	for range 30 {
		r.m = m
		if m, err = regress(r.ctx, m.Map(), r, ratio); err != nil {
			break
		}
		same := true
		for j, v := range m.Noise() {
			same = same && math.Abs(math.Log(v/r.m.Noise()[j])) < 0.01
		}
		if same || math.IsInf(r.nu, 1) {
			break
		}
	}
	return m, r, err
}

// leaveOut returns the sizes of the errors of leave-one-out at rows of the fit, in units of the
// scales σ_j·√(1/w_i + g_i/(1 − ω_i·g_i) + r_i), these scales, and fresh, the scales with w_i = 1 of
// a new row at the same point. b must have weights.
func (r reweighted[T]) leaveOut(m *ridge.Model[T], b ridge.Block[T]) (ratios, scales, fresh dense.Matrix[float64], err error) {
	weights, err := r.weights(b)
	if err != nil {
		return ratios, scales, fresh, err
	}
	ratios, g, lacking, err := residuals(r.ctx, m, b)
	if err != nil {
		return ratios, scales, fresh, err
	}
	scales, fresh = ratios.Clone(), ratios.Clone()
	noise := m.Noise()
	for i, v := range g {
		rest := max(1-float64(weights[i])*v, 1e-9)
		own := v/rest + lacking[i]
		scale := math.Sqrt(1/b.Weight(i) + own)
		for j, e := range ratios.Row(i) {
			ratios.Set(i, j, math.Abs(e)/rest/scale)
			scales.Set(i, j, math.Sqrt(noise[j])*scale)
			fresh.Set(i, j, math.Sqrt(noise[j]*(1+own)))
		}
	}
	return ratios, scales, fresh, nil
}

// tail returns the rows of b with the ω of the ν whose fit, with the kernel in the space, has the
// largest likelihood of leave-one-out. weights are those of the first fit. ν is +Inf unless the
// log-likelihood exceeds that of normal noise by 2 and 0.02 a row, as learnt length-scales may.
func (s *mixtureSearch) tail(at learnt, b ridge.Block[float64], weights []float64) (best reweighted[float64], err error) {
	phi, err := build[float64](s.ctx, at.space, at.kernel, b.X.RowRange(0, min(500, s.landmarks, b.X.Rows)))
	if err != nil {
		return best, err
	}
	first, err := regress(s.ctx, phi, ridge.Block[float64]{X: b.X, Y: b.Y, Weights: weights}, at.ratio)
	if err != nil {
		return best, err
	}
	most := math.Inf(-1)
	for _, nu := range everyTail {
		m, of, err := reweighted[float64]{s.ctx, b, first, nu}.student(at.ratio)
		var score float64
		if err == nil {
			score, err = of.likelihood(m, b)
		}
		if s.ctx.Err() != nil {
			return best, s.ctx.Err()
		}
		if math.IsInf(nu, 1) {
			best, score = of, score+2+0.02*float64(b.X.Rows)
		}
		if err == nil && score > most {
			best, most = of, score
		}
	}
	return best, nil
}

// weights are the first weights of the rows that chose the family.
func heavy[T dense.Float](s *mixtureSearch, found *choice, of reweighted[T], all ridge.Block[float64], weights []float64) (*ridge.Model[T], reweighted[T], error) {
	best, err := s.tail(found.learnt, all.RowRange(0, len(weights)), weights)
	if err != nil {
		return nil, of, err
	}
	found.Tails = best.nu
	if math.IsInf(best.nu, 1) {
		return of.m, of, nil
	}
	weights, err = best.weights(all)
	if err != nil {
		return nil, of, err
	}
	first := ridge.Block[T]{X: dense.Copy(dense.Matrix[T]{}, all.X), Y: dense.Copy(dense.Matrix[T]{}, all.Y)}
	first.Weights = dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(weights), weights)).Data
	of.nu = best.nu
	if of.m, err = regress(s.ctx, of.m.Map(), first, found.ratio); err != nil {
		return nil, of, err
	}
	return of.student(found.ratio)
}

// robust returns b with weights for which outliers count little: the ω of tail for a Gaussian
// kernel whose length-scale is the root mean square distance of two rows.
func (s *mixtureSearch) robust(b ridge.Block[float64]) (ridge.Block[float64], error) {
	at, l, _, err := scaledColumns(deviations)(s, b)
	if err != nil {
		return b, err
	}
	of, err := s.tail(learnt{space: at, kernel: kernels.Gaussian{LengthScale: l}}, b, b.Weights)
	if err == nil {
		b.Weights, err = of.weights(b)
	}
	return b, err
}

// likelihood returns the log density of the errors of leave-one-out at the rows of b of their fit
// m.
func (r reweighted[T]) likelihood(m *ridge.Model[T], b ridge.Block[T]) (sum float64, err error) {
	ratios, scales, _, err := r.leaveOut(m, b)
	if err != nil {
		return 0, err
	}
	nu, p := r.nu, float64(ratios.Cols)
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
