package iterative

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// Model is a fitted regression f_j(x) = b_j + φ(x)ᵀw_j, with samples of its posterior. It never
// changes, and goroutines may share it.
type Model[T dense.Float] struct {
	phi     rff.Map[T]
	weights dense.Matrix[float64] // D×p
	samples dense.Matrix[float64] // D×S, of covariance A⁻¹
	facts
}

// facts are what a model knows beside its weights. Exported fields are parts of files.
type facts struct {
	FeatureMean []float64 // φ̄; zeros without an intercept
	TargetMean  []float64 // ȳ; zeros without an intercept
	Noise       []float64 // σ²
	Ratio       float64   // λ
	Base        float64   // 1/Σω, or 0 without an intercept
	Bound       []float64
	Evidence    estimate
}

// Model returns the model of the weights so far, which share no memory with s. They are the
// solution if Run has returned nil. The error reports a zero solver, a λ that is not chosen yet
// with a *NotConverged, an evidence that is not finite, and a noise that is to be chosen and is
// rounding of the targets. Cost: copies, and the eigenvalues of S tridiagonal matrices as large as
// the number of steps.
func (s *Solver[T]) Model() (*Model[T], error) {
	if s.op == nil {
		return nil, errNoSolver
	}
	if s.ratio == 0 {
		return nil, &NotConverged{Steps: s.Steps, Bound: math.Inf(1), Tolerance: s.opts.Tolerance, Of: s.right.Cols}
	}
	o := s.op
	outputs, samples := len(o.Targets), len(s.Lanczos)
	m := &Model[T]{
		phi: o.phi, weights: s.Solution.ColRange(0, outputs).Clone(), samples: s.Solution.ColRange(outputs, outputs+samples).Clone(),
		facts: facts{
			FeatureMean: slices.Clone(o.Mean), TargetMean: slices.Clone(o.Targets), Ratio: s.ratio, Bound: s.bounds(),
			Noise: make([]float64, outputs),
		},
	}
	constant := -o.LogWeight
	if !s.opts.NoIntercept {
		m.Base = 1 / o.Weight
		constant += math.Log(o.Weight)
	}
	if samples > 0 {
		m.Evidence = s.determinant(s.condition, s.ratio/(o.Trace+s.ratio+s.condition.Shift))
	}
	// The evidence has log det A − D·log λ once for each output, and is of no use without samples.
	size := m.Evidence.Value - float64(len(o.Mean))*math.Log(s.ratio)
	m.Evidence = estimate{Error: m.Evidence.Error * float64(outputs) / 2}
	for j := range outputs {
		// ‖Ω^½(y − Φx)‖² + λ‖x‖² = yᵀΩy − xᵀ(b + r), which errs by the square of the error of x.
		rest := o.Squares[j]
		for f := range s.Solution.Rows {
			rest -= s.Solution.At(f, j) * (s.right.At(f, j) + s.Residual.At(f, j))
		}
		hidden := !(rest > 0x1p-43*s.degrees()*o.Squares[j])
		rest = max(rest, 0)
		switch {
		case s.opts.Noise > 0:
			m.facts.Noise[j] = s.opts.Noise
		case s.opts.Prior > 0:
			m.facts.Noise[j] = s.ratio * s.opts.Prior
		case hidden:
			return nil, fmt.Errorf("iterative: Noise/Prior = %.3g explains output %d to rounding, which tells nothing of its noise", s.ratio, j)
		default:
			m.facts.Noise[j] = rest / s.degrees()
		}
		m.Evidence.Value -= 0.5 * (rest/m.facts.Noise[j] + size + s.degrees()*math.Log(2*math.Pi*m.facts.Noise[j]) + constant)
	}
	if e := m.Evidence.Value; e-e != 0 {
		return nil, fmt.Errorf("iterative: the log evidence is %v, want a finite number", e)
	}
	return m, nil
}

// Map returns the map of the features.
func (m *Model[T]) Map() rff.Map[T] { return m.phi }

// Weights returns a copy of the mean weights (D×p) and the intercepts b: the mean of f_j is b_j +
// φ(x)ᵀw_j.
func (m *Model[T]) Weights() (w dense.Matrix[float64], b []float64) {
	b = slices.Clone(m.TargetMean)
	for i, v := range m.FeatureMean {
		for j, w := range m.weights.Row(i) {
			b[j] -= v * w
		}
	}
	return m.weights.Clone(), b
}

// Noise returns the variance σ² of the noise of each output, in squared units of y.
func (m *Model[T]) Noise() []float64 { return slices.Clone(m.facts.Noise) }

// Prior returns the prior variance s² of the weights of each output, in squared units of y.
func (m *Model[T]) Prior() []float64 {
	prior := m.Noise()
	for j := range prior {
		prior[j] /= m.Ratio
	}
	return prior
}

// Bound returns for each output a bound of the error of means against those of exact weights, the
// root of its weighted mean square over the rows, in units of y: ‖r‖/(2√(λΣω)) for the residual r.
// At any x the error is at most ‖φ(x) − φ̄‖·‖r‖/λ.
func (m *Model[T]) Bound() []float64 { return slices.Clone(m.facts.Bound) }

// Samples returns S, the number of samples of the posterior.
func (m *Model[T]) Samples() int { return m.samples.Cols }

// LogEvidence returns an estimate of the logarithm of the density of the targets given the points,
// summed over outputs, as ridge.Model.LogEvidence defines it, and the standard error of the
// estimate, p/2 times that of log det A. Models of the same rows and Samples and of sources of the
// same seed have errors that are alike, so that their differences are known better than that. The
// error reports a model without samples.
func (m *Model[T]) LogEvidence() (value, standardError float64, err error) {
	if m.samples.Cols == 0 {
		return 0, 0, errors.New("iterative: the model has no samples: want Options.Samples of at least 2")
	}
	return m.Evidence.Value, m.Evidence.Error, nil
}

// Mean writes the means of f_j(x_i), which are also those of new targets, for the rows of x (n×d)
// into dst (n×p) and returns dst; a zero dst is allocated. dst must not overlap x. Mean panics if a
// shape does not fit. Cost: n transforms and n·D·p multiply-adds in float64.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, m.checkPoints(x).Rows, m.weights.Cols)
	m.run(&prediction[T]{m: m, x: x, mean: dst})
	return dst
}

// Predict returns the means and the standard deviations of new targets at the rows of x (n×d), n×p
// each. The variance is Posterior's and the variance of the noise. Predict panics if a shape does
// not fit or the model has no samples. Cost: n transforms and n·D·(p + S) multiply-adds in float64.
func (m *Model[T]) Predict(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 1)
}

// Posterior returns the means and estimates of the standard deviations of f_j at the rows of x
// (n×d), n×p each:
//
//	b_j + φᵀμ_j,  σ_j·√( Σ_s((φ − φ̄)ᵀx_s)²/S + 1/Σω ),
//
// with the S samples x_s ~ N(0, A⁻¹), and without 1/Σω if there is no intercept. The sum over
// samples has the mean (φ − φ̄)ᵀA⁻¹(φ − φ̄) and the relative standard error √(2/S): the standard
// deviation has √(1/(2S)), 0.18 for 16 samples. Samples are the same for all rows, so that errors
// of near rows are alike. Everything else is as for Predict.
func (m *Model[T]) Posterior(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 0)
}

func (m *Model[T]) predict(x dense.Matrix[T], extra float64) (mean, sd dense.Matrix[T]) {
	n := m.checkPoints(x).Rows
	if m.samples.Cols == 0 {
		panic("iterative: the model has no samples: want Options.Samples of at least 2")
	}
	mean, sd = dense.New[T](n, m.weights.Cols), dense.New[T](n, m.weights.Cols)
	m.run(&prediction[T]{m: m, x: x, mean: mean, sd: sd, extra: extra})
	return mean, sd
}

// checkPoints panics unless the rows of x are points of the map, and returns x.
func (m *Model[T]) checkPoints(x dense.Matrix[T]) dense.Matrix[T] {
	if m.phi == nil {
		panic(errNoModel.Error())
	}
	x.Check()
	if d, _ := m.phi.Dims(); x.Cols != d {
		panic(fmt.Sprintf("iterative: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, d))
	}
	return x
}

var errNoModel = errors.New("iterative: the Model is zero, want a fitted one")

// prediction is the task that predicts at the rows of x, some rows a piece; sd is left out if it is
// zero.
type prediction[T dense.Float] struct {
	m        *Model[T]
	x        dense.Matrix[T]
	mean, sd dense.Matrix[T]
	extra    float64 // variance of sd beyond that of f, in units of the noise
	rows     int     // of a piece
}

func (m *Model[T]) run(p *prediction[T]) {
	p.rows = max(1, min(128, 1<<20/m.weights.Rows))
	parallel.Do((p.x.Rows+p.rows-1)/p.rows, p)
}

// predictSpace is the memory of a piece.
type predictSpace[T dense.Float] struct {
	phi           scratch.Buffer[T]
	centred       scratch.Buffer[float64]
	mean, samples scratch.Buffer[float64]
}

var predictSpaces pool.Pair[predictSpace[float32], predictSpace[float64]]

func (p *prediction[T]) Piece(piece int) {
	m, lo := p.m, piece*p.rows
	hi := min(lo+p.rows, p.x.Rows)
	s := pool.Get[predictSpace[T]](&predictSpaces)
	defer pool.Put(&predictSpaces, s)
	s.phi.Shape(hi-lo, m.weights.Rows)
	s.centred.Shape(hi-lo, m.weights.Rows)
	s.mean.Shape(hi-lo, m.weights.Cols)
	features := m.phi.Transform(s.phi.Rows(hi-lo), p.x.RowRange(lo, hi))
	phi := s.centred.Rows(hi - lo)
	for i := range phi.Rows {
		row := phi.Row(i)
		for f, e := range features.Row(i) {
			row[f] = float64(e) - m.FeatureMean[f]
		}
	}
	mean := s.mean.Rows(hi - lo)
	matmul.Mul(1, phi, m.weights, 0, mean)
	for i := range mean.Rows {
		row := p.mean.Row(lo + i)
		for j, v := range mean.Row(i) {
			row[j] = T(v + m.TargetMean[j])
		}
	}
	if p.sd.Rows == 0 {
		return
	}
	s.samples.Shape(hi-lo, m.samples.Cols)
	samples := s.samples.Rows(hi - lo)
	matmul.Mul(1, phi, m.samples, 0, samples)
	for i := range samples.Rows {
		variance := 0.0
		for _, v := range samples.Row(i) {
			variance += v * v
		}
		variance = variance/float64(samples.Cols) + m.Base + p.extra
		row := p.sd.Row(lo + i)
		for j, v := range m.facts.Noise {
			row[j] = T(math.Sqrt(v * variance))
		}
	}
}
