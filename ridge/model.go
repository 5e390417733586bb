package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/rff"
)

// Options are the parameters of a fit. The zero value chooses them by the data.
type Options struct {
	// Noise is the variance σ² of the noise, in squared units of y; 0 for the one of maximum
	// evidence.
	Noise float64

	// Prior is the prior variance s² of the weights, so that the kernel of the Gaussian process is
	// s²·φ(x)ᵀφ(x′), in squared units of y; 0 for the one of maximum evidence.
	Prior float64

	// Ratio is λ = σ²/s², in squared units of the features; 0 for the one of maximum evidence. Without
	// Noise and Prior every output has the variances of maximum evidence for this ratio. With both of
	// them Ratio is 0.
	Ratio float64

	// NoIntercept leaves out the intercept b.
	NoIntercept bool
}

// Check returns an error that names an option out of range, nil if there is none.
func (o Options) Check() error {
	for _, v := range [...]struct {
		name  string
		value float64
	}{{"Noise", o.Noise}, {"Prior", o.Prior}, {"Ratio", o.Ratio}} {
		if !(v.value >= 0) || math.IsInf(v.value, 0) {
			return fmt.Errorf("ridge: %s = %v, want a positive number, or 0 to choose by the evidence", v.name, v.value)
		}
	}
	if o.Noise > 0 && o.Prior > 0 && o.Ratio > 0 {
		return fmt.Errorf("ridge: Ratio = %v beside Noise = %v and Prior = %v, want at most two of them", o.Ratio, o.Noise, o.Prior)
	}
	return nil
}

// Model is a fitted regression: the posterior of the functions f_j(x) = b_j + φ(x)ᵀw_j. It never
// changes, and goroutines may share it.
type Model[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	posterior
}

// Fit fits a model to the points x (n×d) and their targets y (n×p). It is the Add of NewSums and
// their Fit, and returns their errors. A nil ctx panics.
func Fit[T dense.Float](ctx context.Context, phi rff.Map[T], x, y dense.Matrix[T], o Options) (*Model[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	s, err := NewSums(phi, y.Cols)
	if err != nil {
		return nil, err
	}
	if err := s.add(ctx, Block[T]{X: x, Y: y}); err != nil {
		return nil, err
	}
	return s.Fit(ctx, o)
}

// Fit returns the posterior of the rows that s has taken in. s is as before.
//
// With the centred sums A = Σω(φ − φ̄)(φ − φ̄)ᵀ + λI, λ = σ²/s², the weights have the mean μ_j =
// A⁻¹·Σω(φ − φ̄)(y_j − ȳ_j) and the covariance σ²A⁻¹; the intercept has a flat prior. Without an
// intercept φ̄ = 0 and ȳ = 0.
//
// If Noise or Prior is 0 and there is no Ratio, λ is the one of maximum evidence; all outputs share it. If
// both are 0, every output has the variances of maximum evidence for this ratio, in closed form.
// λ is at the end of its range where the evidence has no maximum inside.
//
// λ is at least 2¹⁰·ρ, with the rounding ρ = 8u·√(max_i s_ii·tr S) of the products S and their
// factorisation, u = 2⁻⁵³: means are then right to some 2⁻¹⁰ of the spread of the targets, at worst.
// A noise that is chosen is at least 2¹⁰·u·Σω(y − ȳ)², which is 3·10⁻⁷·√n in units of that spread and
// as a standard deviation. The evidence is then right to 0.01, or, for a noise that is given, to some
// 5u·yᵀy/σ².
//
// Cost: D³/3 multiply-adds for a given λ, and some 25·D³/6 more to choose λ; memory for 2·D²
// numbers of float64, of which the model keeps D².
//
// An error reports options out of range, no rows, sums that are not finite, squares of targets or
// features out of 2^±900, an output that does not vary where its noise is to be chosen, a ratio λ
// that is too small for the rounding of the sums, degrees of freedom that exact sums cannot have, and
// the end of ctx, which is looked at between blocks of a matrix. A nil ctx panics.
func (s *Sums[T]) Fit(ctx context.Context, o Options) (*Model[T], error) {
	p, err := newPosterior(ctx, &s.moments, o)
	if err != nil {
		return nil, err
	}
	return &Model[T]{s.phi, s.source, *p}, nil
}

// Map returns the map of the features.
func (m *Model[T]) Map() rff.Map[T] { return m.phi }

// Weights returns a copy of the mean weights (D×p) and the intercepts b: the mean of f_j is b_j +
// φ(x)ᵀw_j.
func (m *Model[T]) Weights() (w dense.Matrix[float64], b []float64) {
	return m.regression.Weights.Clone(), m.regression.Intercepts()
}

// Noise returns the variance σ² of the noise of each output, in squared units of y.
func (m *Model[T]) Noise() []float64 { return slices.Clone(m.regression.Noise) }

// Prior returns the prior variance s² of the weights of each output, in squared units of y.
func (m *Model[T]) Prior() []float64 { return slices.Clone(m.prior) }

// LogEvidence returns the logarithm of the density of the targets given the points, summed over
// outputs,
//
//	−½·[ (yᵀy − yᵀΦμ)/σ² + log det A − D·log λ + n·log(2πσ²) − Σ log ω ].
//
// With an intercept, whose prior is flat, the density is that of the n − 1 contrasts of the targets:
// n is n − 1, and log Σω is added inside the brackets. The evidence compares maps, kernels and
// variances for the same rows.
func (m *Model[T]) LogEvidence() float64 { return m.evidence }

// DegreesOfFreedom returns the effective number of parameters of each output, the trace of the
// matrix H with ŷ = Hy: Σ λ_i/(λ_i + λ) over the eigenvalues λ_i of the sums, and 1 for an
// intercept. Cost: D³/6 multiply-adds at the first call.
func (m *Model[T]) DegreesOfFreedom() float64 {
	if m.phi == nil {
		panic(errNoModel.Error())
	}
	degrees := max(0, float64(m.regression.Weights.Rows)-m.ratio*floats.Sum(m.diagonal()))
	if m.centred {
		degrees++
	}
	return degrees
}

// FeatureDegrees returns the part of each feature in DegreesOfFreedom, 1 − λ·(A⁻¹)_ff: 0 for a weight
// that the rows tell nothing of, and 1 for one that they determine [MacKay 1992]. Rounding may leave a
// part some 2⁻¹⁰ outside of [0, 1]. Cost: as DegreesOfFreedom.
func (m *Model[T]) FeatureDegrees() []float64 {
	if m.phi == nil {
		panic(errNoModel.Error())
	}
	parts := slices.Clone(m.diagonal())
	for f, v := range parts {
		parts[f] = 1 - m.ratio*v
	}
	return parts
}

// Mean writes the means of f_j(x_i), which are also those of new targets, for the rows of x (n×d)
// into dst (n×p) and returns dst; a zero dst is allocated. dst must not overlap x. Mean panics if a
// shape does not fit. Cost: n transforms and n·D·p multiply-adds in float64. Who serves single rows
// should call Mean, and Predict only where error bars are asked for: see there.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	features.CheckPoints("ridge", m.phi, x)
	return features.Mean(m.source, &m.regression, dst, x, predictRows)
}

// Predict returns the means and the standard deviations of new targets at the rows of x (n×d), n×p
// each. A target lies within 1.645 standard deviations of the mean with 90 % probability under the
// model. The variance is Posterior's and the variance of the noise. Predict panics if a shape does
// not fit. Cost: n transforms and n·D²/2 multiply-adds in float64. For one row Predict reads all of
// R, 4·D² bytes and more, and takes some 60 times as long as Mean at D = 1024; rows that are
// predicted together, 128 or more, share the reading.
func (m *Model[T]) Predict(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 1)
}

// Posterior returns the means and the standard deviations of f_j at the rows of x (n×d), n×p each:
//
//	b_j + φᵀμ_j,  σ_j·√( (φ − φ̄)ᵀA⁻¹(φ − φ̄) + 1/Σω ),
//
// without 1/Σω if there is no intercept. Everything else is as for Predict.
func (m *Model[T]) Posterior(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 0)
}

func (m *Model[T]) predict(x dense.Matrix[T], extra float64) (mean, sd dense.Matrix[T]) {
	features.CheckPoints("ridge", m.phi, x)
	return features.Predict(m.source, &m.regression, x, predictRows, func(r *features.Rows) { m.posterior.predict(r, extra) })
}

// Covariance returns the posterior covariances of f_j between the rows of x (n×d) for output j, an
// n×n matrix in float64. Covariance panics if a shape does not fit, no memory holds n×n numbers or j
// is not in [0, p). Cost: n
// transforms, n·D²/2 and n²·D multiply-adds, and memory for n·D numbers.
func (m *Model[T]) Covariance(x dense.Matrix[T], j int) dense.Matrix[float64] {
	features.CheckPoints("ridge", m.phi, x)
	m.checkCovariance(x.Rows, j)
	phi := dense.New[float64](x.Rows, m.regression.Weights.Rows)
	return m.covariance(m.source.Centred(phi, x, m.regression.FeatureMean), j)
}

// predictRows is the number of rows whose features are in cache together.
const predictRows = 128

var (
	errNoModel      = errors.New("ridge: the Model is zero, want a fitted one")
	errNoClassifier = errors.New("ridge: the Classifier is zero, want a fitted one")
	errNoMap        = errors.New("ridge: phi is nil, want a feature map")
	errNoData       = errors.New("ridge: rows is nil, want data")
	errNoRows       = errors.New("ridge: no rows, want at least 1 with a weight above 0")
)
