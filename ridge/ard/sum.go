package ard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// SumResult is the result of FitSum.
type SumResult[T dense.Float] struct {
	// Model is the model of all rows. Its map is rff.Sum of the maps with the Weights.
	Model *ridge.Model[T]

	// Weights are the weights a_k of the maps. Their sum is 1, and the weight of a map that the
	// evidence does not need is 0. For maps with φ_k(x)ᵀφ_k(x) = 1, such as Gaussian and Matern,
	// a_k is the share of kernel k in the prior variance of the functions.
	Weights []float64

	// EqualEvidence is the log evidence of equal weights. Model.LogEvidence is the log evidence of
	// Weights.
	EqualEvidence float64
}

// FitSum learns the weights of a sum of kernels from the evidence, and fits a model with the
// features
//
//	φ(x) = (√a_1·φ_1(x), …, √a_K·φ_K(x)),  k(x, y) = Σ_k a_k·φ_k(x)ᵀφ_k(y),  Σ a_k = 1,
//
// D features in all: multiple kernel learning by evidence [Gönen & Alpaydın 2011]. Maps of several
// length-scales model smooth and rough parts of one function. Maps of some columns, by rff.Compose
// with rff.Affine, model functions of these columns. Maps need no derivatives.
//
// FitSum reads the rows once, for the sums of equal weights, and rescales these sums for other
// weights. With A = ΦᵀΩΦ + λI, the weights μ_k of map k, and their degrees of freedom Γ_k = D_k −
// λ·tr(A⁻¹)_kk [MacKay 1992], summed over outputs,
//
//	∂L/∂log a_k = ½·( ‖μ_k‖²/s² − Γ_k ).
//
// The evidence depends only on a/λ. The search is L-BFGS on log(a_k/λ) [Liu & Nocedal 1989], from
// equal weights and their λ of maximum evidence. The search ends after Options.MaxIterations, or
// when three iterations gain less than 10⁻³. Then FitSum sets weights to 0, the smallest first,
// while the evidence stays within 10⁻³ of the maximum. The result does not depend on GOMAXPROCS. On
// other processors it differs as the result of Fit does.
//
// Cost: one pass, n transforms and n·D²/2 multiply-adds; 25·D³/6 multiply-adds for equal weights;
// and D³/2 for each evaluation, one or two for each of 10 to 25 iterations, and K more. Memory:
// 4·D² numbers of float64.
//
// The options Prior, Ratio and Sample must be 0, because FitSum learns Prior and Ratio and takes no
// sample.
//
// The error reports these and other options out of range, maps that rff.Sum refuses, the errors of
// ridge.Sum and Sums.Fit, and the end of ctx. FitSum checks ctx during the pass and between blocks
// of a matrix. A nil ctx panics.
func FitSum[T dense.Float](ctx context.Context, maps []rff.Map[T], rows ridge.Rows[T], o Options) (*SumResult[T], error) {
	if err := argument.Context("ard", ctx); err != nil {
		return nil, err
	}
	if err := cmp.Or(o.check(), o.checkSum()); err != nil {
		return nil, err
	}
	if o.MaxIterations == 0 {
		o.MaxIterations = 60
	}
	f, err := newSumFitter(ctx, maps, rows, o)
	if err != nil {
		return nil, err
	}
	equal, err := f.sums.Fit(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	s := &search{ctx: ctx, o: o, rows: f.sums.Rows(), gain: sumGain, fit: f.fit, slope: f.slope}
	x := make([]float64, len(maps))
	for k := range x {
		// Fit may refuse the least allowed λ after rounding, so x has a slightly larger λ.
		x[k] = -math.Log(equal.Noise()[0] / equal.Prior()[0] * (1 + 0x1p-10))
	}
	if s.reset(); !s.at(x) {
		return nil, s.end()
	}
	if err := s.climb(0, x); err != nil {
		return nil, err
	}
	if err := s.prune(); err != nil {
		return nil, err
	}
	r := &SumResult[T]{Model: s.best.model.(*ridge.Model[T]), EqualEvidence: equal.LogEvidence()}
	r.Weights, _ = shares(s.best.x)
	return r, nil
}

// checkSum returns an error if an option is set that FitSum does not have.
func (o Options) checkSum() error {
	for _, v := range [...]struct {
		name  string
		value float64
	}{{"Prior", o.Prior}, {"Ratio", o.Ratio}, {"Sample", float64(o.Sample)}} {
		if v.value != 0 {
			return fmt.Errorf("ard: %s = %v, want 0 for a sum", v.name, v.value)
		}
	}
	return nil
}

// sumFitter fits the models of a sum of maps as functions of x_k = log(a_k/λ).
type sumFitter[T dense.Float] struct {
	ctx  context.Context
	maps []rff.Map[T]
	sums *ridge.Sums[T] // of weights 1
	o    ridge.Options
}

// newSumFitter reads the rows.
func newSumFitter[T dense.Float](ctx context.Context, maps []rff.Map[T], rows ridge.Rows[T], o Options) (*sumFitter[T], error) {
	phi, err := rff.Sum(maps, slices.Repeat([]float64{1}, len(maps)))
	if err != nil {
		return nil, err
	}
	sums, err := ridge.Sum(ctx, phi, rows)
	if err != nil {
		return nil, err
	}
	return &sumFitter[T]{ctx, slices.Clone(maps), sums, o.Options}, nil
}

// nothing is the weight below which shares sets a weight to 0. The root of nothing is a float32.
const nothing = 0x1p-200

// shares returns the weights with the sum 1 at x, and their λ.
func shares(x []float64) (weights []float64, ratio float64) {
	weights = make([]float64, len(x))
	top := floats.Max(x)
	for k, v := range x {
		weights[k] = math.Exp(v - top)
	}
	total := floats.Sum(weights)
	for k := range weights {
		if weights[k] /= total; weights[k] < nothing {
			weights[k] = 0
		}
	}
	return weights, math.Exp(-top) / total
}

// fit returns the model at x. No error is fatal, because x may be outside of the range of λ.
func (f *sumFitter[T]) fit(x []float64) (m model, fatal bool, err error) {
	weights, ratio := shares(x)
	phi, err := rff.Sum(f.maps, weights)
	if err != nil {
		return nil, false, err
	}
	var scales []float64
	for k, m := range f.maps {
		_, width := m.Dims()
		scales = append(scales, slices.Repeat([]float64{math.Sqrt(weights[k])}, width)...)
	}
	sums, err := f.sums.Rescaled(phi, scales)
	if err != nil {
		return nil, false, err
	}
	o := f.o
	o.Ratio = ratio
	m, err = sums.Fit(f.ctx, o)
	return m, false, err
}

// slope writes the derivatives of −log evidence of m with respect to the logarithms of the weights
// of the maps into dst.
func (f *sumFitter[T]) slope(dst []float64, m model) error {
	w, _ := m.Weights()
	prior, degrees := m.Prior(), m.FeatureDegrees()
	feature := 0
	for k, part := range f.maps {
		_, width := part.Dims()
		g := 0.0
		for range width {
			for j, v := range w.Row(feature) {
				g += 0.5 * (v*v/prior[j] - degrees[feature])
			}
			feature++
		}
		dst[k] -= g
	}
	return nil
}

// sumGain is the evidence that three iterations must gain, and the largest loss for weights of 0.
const sumGain = 1e-3

// prune sets the weights to 0 that the evidence does not need.
func (s *search) prune() error {
	least := s.best.value - sumGain
	weights, _ := shares(s.best.x)
	order := make([]int, len(weights))
	floats.Argsort(slices.Clone(weights), order)
	for _, k := range order[:len(order)-1] {
		x := slices.Clone(s.best.x)
		x[k] = math.Inf(-1)
		if s.at(x) && s.now.value >= least {
			s.best = s.now
		}
		if s.fatal != nil {
			return s.fatal
		}
	}
	return nil
}
