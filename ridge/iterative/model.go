package iterative

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// Model is a fitted regression f_j(x) = b_j + φ(x)ᵀw_j, with samples of its posterior. It never
// changes, and goroutines may share it.
type Model[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	core   posterior
}

// posterior is the part of a Model that does not depend on T. Files store its exported fields.
type posterior struct {
	Weights dense.Matrix[float64] // D×p
	Samples dense.Matrix[float64] // D×S, with the covariance A⁻¹
	Facts   facts
}

// facts are the vectors and numbers of a posterior.
type facts struct {
	features.Facts
	Bound    []float64
	Evidence estimate
}

// regression returns the weights and facts as a features.Regression.
func (p *posterior) regression() *features.Regression {
	return &features.Regression{Weights: p.Weights, Facts: p.Facts.Facts}
}

// Model returns the model of the current weights, which share no memory with s. After Run has
// returned nil, these weights are the solution. The error reports a zero solver, a λ that is not
// chosen yet (*NotConverged), an evidence that is not finite, and a noise that is not given and is
// lost in the rounding of the targets. Cost: copies, and the eigenvalues of S tridiagonal matrices
// with a row per step.
func (s *Solver[T]) Model() (*Model[T], error) {
	if s.phi == nil {
		return nil, errNoSolver
	}
	p, err := s.core.posterior()
	if err != nil {
		return nil, err
	}
	return &Model[T]{s.phi, features.New(s.phi), *p}, nil
}

// posterior returns the posterior of the current weights.
func (s *solver) posterior() (*posterior, error) {
	if s.ratio == 0 {
		return nil, &NotConverged{Progress: s.progress(), Tolerance: s.opts.Tolerance}
	}
	o := s.moments
	outputs, samples := len(o.targets), len(s.lanczos)
	p := &posterior{
		Weights: s.solution.ColRange(0, outputs).Clone(), Samples: s.solution.ColRange(outputs, outputs+samples).Clone(),
		Facts: facts{
			Facts: features.Facts{FeatureMean: slices.Clone(o.mean), TargetMean: slices.Clone(o.targets), Noise: make([]float64, outputs), Ratio: s.ratio},
			Bound: s.bounds(),
		},
	}
	f := &p.Facts
	constant := -o.logWeight
	if !s.opts.NoIntercept {
		f.Base = 1 / o.weight
		constant += math.Log(o.weight)
	}
	if samples > 0 {
		f.Evidence = s.determinant(s.condition, s.ratio/(o.trace+s.ratio+s.condition.shift))
	}
	// The evidence contains log det A − D·log λ once for each output.
	size := f.Evidence.Value - float64(len(o.mean))*math.Log(s.ratio)
	f.Evidence = estimate{Error: f.Evidence.Error * float64(outputs) / 2}
	noise := f.Noise
	for j := range outputs {
		// ‖Ω^½(y − Φx)‖² + λ‖x‖² = yᵀΩy − xᵀ(b + r). Its error is of second order in the error of
		// x.
		rest := o.squares[j]
		for f := range s.solution.Rows {
			rest -= s.solution.At(f, j) * (s.right.At(f, j) + s.residual.At(f, j))
		}
		hidden := !(rest > 0x1p-43*s.degrees()*o.squares[j])
		rest = max(rest, 0)
		switch {
		case s.opts.Noise > 0:
			noise[j] = s.opts.Noise
		case s.opts.Prior > 0:
			noise[j] = s.ratio * s.opts.Prior
		case hidden:
			return nil, fmt.Errorf("iterative: Noise/Prior = %.3g explains output %d to rounding, which tells nothing of its noise", s.ratio, j)
		default:
			noise[j] = rest / s.degrees()
		}
		f.Evidence.Value -= 0.5 * (rest/noise[j] + size + s.degrees()*math.Log(2*math.Pi*noise[j]) + constant)
	}
	if e := f.Evidence.Value; e-e != 0 {
		return nil, fmt.Errorf("iterative: the log evidence is %v, want a finite number", e)
	}
	return p, nil
}

// Map returns the map of the features.
func (m *Model[T]) Map() rff.Map[T] { return m.phi }

// Weights returns a copy of the mean weights w (D×p) and the intercepts b. The mean of f_j is
// b_j + φ(x)ᵀw_j.
func (m *Model[T]) Weights() (w dense.Matrix[float64], b []float64) {
	return m.core.Weights.Clone(), m.core.regression().Intercepts()
}

// Noise returns the variance σ² of the noise of each output, in squared units of y.
func (m *Model[T]) Noise() []float64 { return slices.Clone(m.core.Facts.Noise) }

// Prior returns the prior variance s² of the weights of each output, in squared units of y.
func (m *Model[T]) Prior() []float64 {
	prior := m.Noise()
	for j := range prior {
		prior[j] /= m.core.Facts.Ratio
	}
	return prior
}

// Bound returns a bound of the error of the means for each output, relative to the exact weights:
// the bound ‖r‖/(2√(λΣω)) of the weighted root mean square over the rows, in units of y, for the
// residual r. At any x the error is at most ‖φ(x) − φ̄‖·‖r‖/λ.
func (m *Model[T]) Bound() []float64 { return slices.Clone(m.core.Facts.Bound) }

// LogEvidence returns an estimate of the log evidence, summed over outputs, as
// ridge.Model.LogEvidence defines it, and the standard error of the estimate, p/2 times the
// standard error of log det A. Models of the same rows, with the same Samples and seed, have
// similar errors, so differences of their evidence are more accurate. The error reports a model
// without samples.
func (m *Model[T]) LogEvidence() (value, standardError float64, err error) {
	if m.core.Samples.Cols == 0 {
		return 0, 0, errors.New("iterative: the model has no samples: want Options.Samples of at least 2")
	}
	return m.core.Facts.Evidence.Value, m.core.Facts.Evidence.Error, nil
}

// Mean writes the means of f_j(x_i), which are also the means of new targets, for the rows of x
// (n×d) into dst (n×p) and returns dst. Mean allocates a zero dst. dst must not overlap x. Mean
// panics if a shape does not fit. Cost: n transforms and n·D·p multiply-adds in float64.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	features.CheckPoints("iterative", m.phi, x)
	return features.Mean(m.source, m.core.regression(), dst, x, m.core.rows())
}

// Predict returns the means and the standard deviations of new targets at the rows of x (n×d), n×p
// each. The variance is the variance of Posterior plus the noise. Predict panics if a shape does
// not fit or the model has no samples. Cost: n transforms and n·D·(p + S) multiply-adds in float64.
func (m *Model[T]) Predict(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 1)
}

// Posterior returns the means and estimates of the standard deviations of f_j at the rows of x
// (n×d), n×p each:
//
//	b_j + φᵀμ_j,  σ_j·√( Σ_s((φ − φ̄)ᵀx_s)²/S + 1/Σω + (k(x, x) − ‖φ‖²)/λ ),
//
// with the S samples x_s ~ N(0, A⁻¹), and without 1/Σω if there is no intercept. The last term is
// that of maps with landmarks, as ridge.Model.Posterior describes. The relative standard error of a
// standard deviation is √(1/(2S)), 0.18 for 16 samples. All rows use the same samples, so errors at
// near rows are similar. Panics and cost are as for Predict.
func (m *Model[T]) Posterior(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 0)
}

func (m *Model[T]) predict(x dense.Matrix[T], extra float64) (mean, sd dense.Matrix[T]) {
	features.CheckPoints("iterative", m.phi, x)
	if m.core.Samples.Cols == 0 {
		panic("iterative: the model has no samples: want Options.Samples of at least 2")
	}
	return features.Predict(m.source, m.core.regression(), x, m.core.rows(), func(r *features.Rows) { m.core.predict(r, extra) })
}

var errNoModel = errors.New("iterative: the Model is zero, want a fitted one")

// rows returns the number of rows whose features are computed together.
func (p *posterior) rows() int { return max(1, min(128, 1<<20/p.Weights.Rows)) }

var sampleSpaces pool.Of[scratch.Buffer[float64]]

// predict writes means into r.First and standard deviations into r.Second. predict adds extra times
// the noise to the variance of the functions.
func (p *posterior) predict(r *features.Rows, extra float64) {
	regression, n := p.regression(), r.Phi.Rows
	regression.Mean(r)
	space := sampleSpaces.Get()
	defer sampleSpaces.Put(space)
	space.Shape(n, p.Samples.Cols)
	samples := space.Rows(n)
	matmul.Mul(1, r.Phi, p.Samples, 0, samples)
	variances := make([]float64, n)
	for i := range variances {
		for _, v := range samples.Row(i) {
			variances[i] += v * v
		}
		variances[i] /= float64(samples.Cols)
	}
	regression.Deviations(r, variances, extra)
}
