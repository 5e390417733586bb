package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/rff"
)

// Options fix the variances, the intercept and the method of a fit. With zero Options a fit chooses
// all parameters by maximum evidence.
type Options struct {
	// Noise is the variance σ² of the noise, in squared units of the targets. A Noise of 0 stands
	// for the variance of maximum evidence.
	Noise float64

	// Prior is the prior variance s² of the regression weights, in squared units of the targets:
	// with features φ, the kernel of the Gaussian process is s²·φ(x)ᵀφ(x′). A Prior of 0 stands for
	// the variance of maximum evidence.
	Prior float64

	// Ratio is the penalty λ = σ²/s², noise over prior variance, in squared units of the features.
	// A Ratio of 0 stands for the ratio of maximum evidence. If Ratio is given without Noise and
	// Prior, every output has the variances σ² and s² of maximum evidence for the given Ratio.
	// Ratio must be 0 if both Noise and Prior are given.
	Ratio float64

	// NoIntercept removes the intercept b from the model b + φ(x)ᵀw.
	NoIntercept bool

	// Iterative, if not nil, lets Fit and Choose solve the regression by conjugate gradients, with
	// memory in proportion to the number D of features, not to D².
	Iterative *Iterative
}

func (o Options) check() error {
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
	return o.Iterative.check()
}

func (o Options) ratio() (ratio float64, given bool) {
	if o.Noise > 0 && o.Prior > 0 {
		return o.Noise / o.Prior, true
	}
	return o.Ratio, o.Ratio > 0
}

// likely is a noise of maximum evidence, for options that give neither noise nor prior.
func (o Options) variances(ratio, likely float64) (noise, prior float64) {
	switch {
	case o.Noise > 0:
		likely = o.Noise
	case o.Prior > 0:
		likely = ratio * o.Prior
	}
	return likely, likely / ratio
}

// Model is a fitted regression: the posterior of the functions f_j(x) = b_j + φ(x)ᵀw_j of the
// outputs j. A Model never changes, and goroutines may share a Model.
type Model[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	posterior
	exact *exact[T] // or nil
}

// Fit fits a Bayesian ridge regression on the features of the map phi to the rows. Fit returns the
// errors of Sum and Sums.Fit. The model of Fit does not depend on GOMAXPROCS.
//
// Without Options.Iterative, Fit reads rows of files once. For a Block[float32] without Weights, of
// at least 65,280 and at least 128·D rows, Fit sums the products of the D features in float32, and
// measures the matrix E of rounding errors of the sums: Fit sums again in float64 unless the
// penalty λ > 64·‖E‖. Model.Accuracy tells whether Fit summed products in float32.
//
// With Options.Iterative, Fit reads the rows some tens of times. If the iterations end before the
// tolerance is reached, Fit returns the model so far and a *NotConverged. With Options.Iterative,
// Fit also returns an error for a λ too small for float64 or rows that differ between passes.
func Fit[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T], o Options) (*Model[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Iterative != nil {
		return fitIterative(ctx, phi, rows, o)
	}
	b, memory := rows.(Block[T])
	if !memory {
		s, err := Sum(ctx, phi, rows)
		if err != nil {
			return nil, err
		}
		return s.Fit(ctx, o)
	}
	s, err := NewSums(phi, b.Y.Cols)
	if err != nil {
		return nil, err
	}
	if m, err := fitSingle(ctx, s, b, o); m != nil || err != nil {
		return m, err
	}
	if err := s.add(ctx, b); err != nil {
		return nil, err
	}
	return s.Fit(ctx, o)
}

// Fit returns the posterior for the rows of the Sums s and does not change s: for weights ω,
// features φ, targets y and means φ̄ and ȳ, the regression weights of output j have the mean
// A⁻¹·Σω(φ − φ̄)(y_j − ȳ_j) and the covariance σ²A⁻¹ for A = Σω(φ − φ̄)(φ − φ̄)ᵀ + λI. The
// intercept has a flat prior. Without an intercept, zeros replace the means φ̄ and ȳ of features
// and targets.
//
// If o.Ratio is 0 and o.Noise or o.Prior is 0, Fit chooses the penalty λ of maximum evidence, one
// for all outputs. The penalty λ is at least 2¹⁰ times the rounding error of the Sums: see Noise
// and prior in docs/regression.md. With D features, Fit costs D³/3 multiply-adds for a given
// penalty λ, and about 25·D³/6 more to choose λ, and needs memory for 5/2·D² numbers of float64.
//
// Fit returns an error for no rows, sums that are not finite, sums of squares of targets or
// features that are neither 0 nor in [2⁻⁹⁰⁰, 2⁹⁰⁰], a constant output without a given noise, and a
// penalty λ too small for the rounding of the sums.
func (s *Sums[T]) Fit(ctx context.Context, o Options) (*Model[T], error) {
	if o.Iterative != nil {
		return nil, errors.New("ridge: Iterative with sums, which have the products of the direct solution: want Fit")
	}
	p, err := newPosterior(ctx, &s.moments, o)
	if err != nil {
		return nil, err
	}
	return &Model[T]{s.phi, s.source, *p, nil}, nil
}

// Map returns the feature map of the model.
func (m *Model[T]) Map() rff.Map[T] { return m.phi }

// Weights returns copies of the posterior means w of the regression weights, a column for each
// output, and of the intercepts b. The mean of output j at x is b_j + φ(x)ᵀw_j with the features φ,
// plus the sum Σ_i a_ij·k(x, x_i) for a model from WithKernel.
func (m *Model[T]) Weights() (w dense.Matrix[float64], b []float64) {
	return m.regression.Weights.Clone(), m.regression.Intercepts()
}

// Noise returns the variance σ² of the noise of each output, in squared units of the targets.
func (m *Model[T]) Noise() []float64 { return slices.Clone(m.regression.Noise) }

// Prior returns for each output the prior variance s² of the weights, in squared units of targets.
func (m *Model[T]) Prior() []float64 { return slices.Clone(m.prior) }

// LogEvidence returns the log density of the targets given the points, summed over outputs,
//
//	−½·[ (yᵀy − yᵀΦμ)/σ² + log det A − D·log λ + n·log(2πσ²) − Σ log ω ].
//
// For a model with an intercept, LogEvidence is the log density of the differences between the n
// targets: n − 1 stands in place of n, and the sum in brackets has one more term, log Σω, for the
// weights ω of rows. Of two models of the same rows, the model with the larger LogEvidence explains
// the targets better. LogEvidence is 0 for a model from WithKernel.
func (m *Model[T]) LogEvidence() float64 { return m.evidence }

// DegreesOfFreedom returns the effective number of parameters of each output: Σ λ_i/(λ_i + λ) for
// the penalty λ and the eigenvalues λ_i of Σω(φ − φ̄)(φ − φ̄)ᵀ, plus 1 for an intercept.
func (m *Model[T]) DegreesOfFreedom() float64 {
	if m.phi == nil {
		panic(errNoModel.Error())
	}
	degrees := 0.0
	for _, v := range m.root.diagonal() { // of A⁻¹
		degrees += 1 - m.regression.Ratio*v
	}
	degrees = max(0, degrees)
	if m.centred {
		degrees++
	}
	return degrees
}

// Accuracy says how far a model may be from the exact solution of the ridge regression.
type Accuracy struct {
	// SinglePrecision reports whether Fit has summed products in float32; false after ReadModel.
	SinglePrecision bool

	// Samples is the number of samples of the posterior, or 0 if the posterior is exact.
	Samples int

	// Bound has for each output, in units of the targets, the bound ‖r‖/(2√(λΣω)) of the weighted
	// root mean square difference of the means at the rows from the exact solution, for the
	// residual r of the linear system and row weights ω; nil for the direct solution.
	Bound []float64

	// LogEvidence is the standard error of Model.LogEvidence. Two models of equal rows and random
	// samples have similar errors of Model.LogEvidence, so differences are more accurate.
	LogEvidence float64
}

// Accuracy returns how far the model may be from the exact solution of the ridge regression.
func (m *Model[T]) Accuracy() Accuracy {
	a := m.accuracy
	a.Bound = slices.Clone(a.Bound)
	return a
}

// For each row of x, Mean writes the posterior means of all outputs, which are also the means of
// new targets, into a row of dst and returns dst; a zero dst is allocated. The result dst of Mean
// must not overlap x. Mean panics if the shape of x or dst does not fit the model. For n rows, D
// features and p outputs, Mean costs n transforms by the map and n·D·p multiply-adds in float64.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	features.CheckPoints("ridge", m.phi, x)
	if m.exact != nil {
		return dense.Copy(dense.Ensure(dst, x.Rows, len(m.prior)), m.exact.at(x, m.regression.TargetMean))
	}
	return features.Mean(m.source, &m.regression, dst, x, m.rows())
}

// For each row of x and each output, Predict returns the mean and the standard deviation of a new
// target, whose variance is that of Posterior plus that of the noise. Predict panics if the shape
// of x does not fit the model. For n rows and D features Predict costs n transforms by the feature
// map, n·D²/2 multiply-adds in float64, and 4·D² bytes read for every 128 rows.
func (m *Model[T]) Predict(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 1)
}

// For each row x and output j, Posterior returns the mean and the standard deviation of f_j(x):
//
//	b_j + φᵀμ_j,  σ_j·√( (φ − φ̄)ᵀA⁻¹(φ − φ̄) + 1/Σω + (k(x, x) − ‖φ‖²)/λ ).
//
// The term 1/Σω in the formula of Posterior, for row weights ω, is 0 if the model has no intercept.
// The term (k(x, x) − ‖φ‖²)/λ, with features φ and kernel k, is 0 unless the map comes from
// rff.Nystroem or rff.Spectral: s²·(k(x, x) − ‖φ‖²) is the prior variance outside of the span of
// the landmarks [Quiñonero-Candela & Rasmussen 2005]. Posterior panics where Predict panics, at the
// cost of Predict.
func (m *Model[T]) Posterior(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 0)
}

func (m *Model[T]) predict(x dense.Matrix[T], extra float64) (mean, sd dense.Matrix[T]) {
	features.CheckPoints("ridge", m.phi, x)
	mean, sd = features.Predict(m.source, &m.regression, x, m.rows(), func(r *features.Design) { m.posterior.predict(r, extra) })
	if m.exact != nil {
		m.Mean(mean, x)
	}
	return mean, sd
}

const predictRows = 128

// rows returns the number of rows whose features, at most 8 MiB, are computed together.
func (p *posterior) rows() int { return max(1, min(predictRows, 1<<20/p.root.width)) }

var (
	errNoModel      = errors.New("ridge: the Model is zero, want a fitted one")
	errNoClassifier = errors.New("ridge: the Classifier is zero, want a fitted one")
	errNoMap        = errors.New("ridge: phi is nil, want a feature map")
	errNoData       = errors.New("ridge: rows is nil, want data")
	errNoRows       = errors.New("ridge: no rows, want at least 1 with a weight above 0")
)
