package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
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
	phi       rff.Map[T]
	centred   bool
	ratio     float64 // λ = σ²/s²
	noise     []float64
	prior     []float64
	weight    float64   // Σω
	mean      []float64 // of features; zeros without an intercept
	intercept []float64 // value at the mean of features
	weights   dense.Matrix[float64]
	factor    *cholesky
	evidence  float64

	degrees sync.Once
	inverse []float64 // diagonal of A⁻¹
}

// Fit fits a model to the points x (n×d) and their targets y (n×p). It is the Add of NewSums and
// their Fit, and returns their errors. A nil ctx panics.
func Fit[T dense.Float](ctx context.Context, phi rff.Map[T], x, y dense.Matrix[T], o Options) (*Model[T], error) {
	return instance.Of(&fitRowsBoth, Fit[T])(ctx, phi, x, y, o)
}

var fitRowsBoth = instance.Both{fitRows[float32], fitRows[float64]}

func fitRows[T dense.Float](ctx context.Context, phi rff.Map[T], x, y dense.Matrix[T], o Options) (*Model[T], error) {
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
	return instance.Of(&sumsFitBoth, (*Sums[T]).Fit)(s, ctx, o)
}

var sumsFitBoth = instance.Both{sumsFit[float32], sumsFit[float64]}

func sumsFit[T dense.Float](s *Sums[T], ctx context.Context, o Options) (*Model[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	p, err := newProblem(ctx, &s.moments, o)
	if err != nil {
		return nil, err
	}
	ratio, err := p.chooseRatio()
	if err != nil {
		return nil, err
	}
	at, err := p.at(ratio)
	if stop := ctx.Err(); stop != nil {
		return nil, stop
	}
	if err != nil {
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g is too small for the rounding of the sums: %w", ratio, err)
	}
	if at.hidden && o.Noise == 0 && o.Prior == 0 {
		return nil, fmt.Errorf("ridge: Noise/Prior = %.3g explains the targets to rounding, which tells nothing of their noise", ratio)
	}
	m := &Model[T]{
		phi: s.phi, centred: !o.NoIntercept, ratio: ratio, noise: at.noise, prior: at.prior, weight: s.weight,
		mean: slices.Clone(s.mean), intercept: slices.Clone(s.targets), weights: at.weights, factor: at.factor, evidence: at.evidence,
	}
	if o.NoIntercept {
		clear(m.mean)
		clear(m.intercept)
	}
	if err := m.checkFit(ctx, p.rows); err != nil {
		return nil, err
	}
	return m, nil
}

// checkFit returns an error unless the posterior is one that exact sums can have.
func (m *Model[T]) checkFit(ctx context.Context, rows float64) error {
	inverse, err := m.factor.inverseDiagonal(ctx)
	if err != nil {
		return err
	}
	m.degrees.Do(func() { m.inverse = inverse })
	width := float64(m.weights.Rows)
	if degrees := width - m.ratio*floats.Sum(inverse); !(degrees >= -width*0x1p-40 && degrees <= min(width, rows)+width/margin) {
		return fmt.Errorf("ridge: %.4g degrees of freedom of %.0f features and %.0f rows for Noise/Prior = %.3g, which is too small for the rounding of the sums",
			degrees, width, rows, m.ratio)
	}
	for j, v := range m.noise {
		if s := m.prior[j]; !(v > 0 && s > 0) || math.IsInf(v, 0) || math.IsInf(s, 0) {
			return fmt.Errorf("ridge: output %d has the noise %.3g and the prior %.3g, want positive numbers: scale the targets or the features", j, v, s)
		}
	}
	if e := m.evidence; e-e != 0 {
		return fmt.Errorf("ridge: the log evidence is %v, want a finite number", e)
	}
	return nil
}

// Map returns the map of the features.
func (m *Model[T]) Map() rff.Map[T] { return m.phi }

// Weights returns a copy of the mean weights (D×p) and the intercepts b: the mean of f_j is b_j +
// φ(x)ᵀw_j.
func (m *Model[T]) Weights() (w dense.Matrix[float64], b []float64) {
	return m.weights.Clone(), m.offset()
}

// offset returns the values at φ = 0.
func (m *Model[T]) offset() []float64 {
	offset := slices.Clone(m.intercept)
	for i, v := range m.mean {
		for j, w := range m.weights.Row(i) {
			offset[j] -= v * w
		}
	}
	return offset
}

// Noise returns the variance σ² of the noise of each output, in squared units of y.
func (m *Model[T]) Noise() []float64 { return slices.Clone(m.noise) }

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

// Mean writes the means of f_j(x_i), which are also those of new targets, for the rows of x (n×d)
// into dst (n×p) and returns dst; a zero dst is allocated. dst must not overlap x. Mean panics if a
// shape does not fit. Cost: n transforms and n·D·p multiply-adds in float64. Who serves single rows
// should call Mean, and Predict only where error bars are asked for: see there.
func (m *Model[T]) Mean(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return instance.Of(&modelMeanBoth, (*Model[T]).Mean)(m, dst, x)
}

var modelMeanBoth = instance.Both{modelMean[float32], modelMean[float64]}

func modelMean[T dense.Float](m *Model[T], dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, m.checkPoints(x).Rows, m.weights.Cols)
	m.run(&prediction[T]{m: m, x: x, mean: dst})
	return dst
}

// Predict returns the means and the standard deviations of new targets at the rows of x (n×d), n×p
// each. A target lies within 1.645 standard deviations of the mean with 90 % probability under the
// model. The variance is Posterior's and the variance of the noise. Predict panics if a shape does
// not fit. Cost: n transforms and n·D²/2 multiply-adds in float64. For one row Predict reads all of
// R, 4·D² bytes and more, and takes some 60 times as long as Mean at D = 1024; rows that are
// predicted together, 128 or more, share the reading.
func (m *Model[T]) Predict(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return instance.Of(&modelPredictBoth, (*Model[T]).Predict)(m, x)
}

var modelPredictBoth = instance.Both{modelPredict[float32], modelPredict[float64]}

func modelPredict[T dense.Float](m *Model[T], x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 1)
}

// Posterior returns the means and the standard deviations of f_j at the rows of x (n×d), n×p each:
//
//	b_j + φᵀμ_j,  σ_j·√( (φ − φ̄)ᵀA⁻¹(φ − φ̄) + 1/Σω ),
//
// without 1/Σω if there is no intercept. Everything else is as for Predict.
func (m *Model[T]) Posterior(x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return instance.Of(&modelPosteriorBoth, (*Model[T]).Posterior)(m, x)
}

var modelPosteriorBoth = instance.Both{modelPosterior[float32], modelPosterior[float64]}

func modelPosterior[T dense.Float](m *Model[T], x dense.Matrix[T]) (mean, sd dense.Matrix[T]) {
	return m.predict(x, 0)
}

func (m *Model[T]) predict(x dense.Matrix[T], extra float64) (mean, sd dense.Matrix[T]) {
	n := m.checkPoints(x).Rows
	mean, sd = dense.New[T](n, m.weights.Cols), dense.New[T](n, m.weights.Cols)
	m.run(&prediction[T]{m: m, x: x, mean: mean, sd: sd, extra: extra})
	return mean, sd
}

// Covariance returns the posterior covariances of f_j between the rows of x (n×d) for output j, an
// n×n matrix in float64. Covariance panics if a shape does not fit, no memory holds n×n numbers or j
// is not in [0, p). Cost: n
// transforms, n·D²/2 and n²·D multiply-adds, and memory for n·D numbers.
func (m *Model[T]) Covariance(x dense.Matrix[T], j int) dense.Matrix[float64] {
	return instance.Of(&modelCovarianceBoth, (*Model[T]).Covariance)(m, x, j)
}

var modelCovarianceBoth = instance.Both{modelCovariance[float32], modelCovariance[float64]}

func modelCovariance[T dense.Float](m *Model[T], x dense.Matrix[T], j int) dense.Matrix[float64] {
	m.checkPoints(x)
	if j < 0 || j >= m.weights.Cols {
		panic(fmt.Sprintf("ridge: output %d of %d", j, m.weights.Cols))
	}
	if err := limit.Memory[float64](x.Rows, x.Rows); err != nil {
		panic(fmt.Sprintf("ridge: the covariances of %d rows: %v", x.Rows, err))
	}
	v := dense.New[float64](m.weights.Rows, x.Rows)
	m.halves(v, centred(dense.New[float64](x.Rows, v.Rows), m.phi.Transform(dense.Matrix[T]{}, x), m.mean))
	c := dense.New[float64](x.Rows, x.Rows)
	matmul.TMul(m.noise[j], v, v, 0, c)
	for i := range c.Data {
		c.Data[i] += m.noise[j] * m.base()
	}
	return c
}

// base returns the variance of the intercept over that of the noise.
func (m *Model[T]) base() float64 {
	if m.centred {
		return 1 / m.weight
	}
	return 0
}

// checkPoints panics unless the rows of x are points of the map, and returns x.
func (m *Model[T]) checkPoints(x dense.Matrix[T]) dense.Matrix[T] {
	if m.phi == nil {
		panic(errNoModel.Error())
	}
	x.Check()
	if d, _ := m.phi.Dims(); x.Cols != d {
		panic(fmt.Sprintf("ridge: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, d))
	}
	return x
}

// predictRows is the number of rows whose features are in cache together.
const predictRows = 128

// prediction is the task that predicts at the rows of x, some rows a piece. It writes mean, sd and
// errors, each unless it is zero.
type prediction[T dense.Float] struct {
	m         *Model[T]
	x         dense.Matrix[T]
	mean, sd  dense.Matrix[T]
	extra     float64         // variance of sd beyond that of f, in units of the noise
	errors, y dense.Matrix[T] // leave-one-out errors and targets
	weights   []T             // of the rows of errors
}

func (m *Model[T]) run(p *prediction[T]) {
	parallel.Do((p.x.Rows+predictRows-1)/predictRows, p)
}

// predictSpace is the memory of a piece.
type predictSpace[T dense.Float] struct {
	phi                   scratch.Buffer[T]
	centred, mean, halves scratch.Buffer[float64]
}

var predictSpaces pool.Pair[predictSpace[float32], predictSpace[float64]]

func (p *prediction[T]) Piece(piece int) {
	m, lo := p.m, piece*predictRows
	hi := min(lo+predictRows, p.x.Rows)
	s := pool.Get[predictSpace[T]](&predictSpaces)
	defer pool.Put(&predictSpaces, s)
	s.phi.Shape(hi-lo, m.weights.Rows)
	s.centred.Shape(hi-lo, m.weights.Rows)
	s.mean.Shape(hi-lo, m.weights.Cols)
	phi := centred(s.centred.Rows(hi-lo), m.phi.Transform(s.phi.Rows(hi-lo), p.x.RowRange(lo, hi)), m.mean)
	mean := s.mean.Rows(hi - lo)
	matmul.Mul(1, phi, m.weights, 0, mean)
	if p.mean.Rows > 0 {
		for i := range mean.Rows {
			row := p.mean.Row(lo + i)
			for j, v := range mean.Row(i) {
				row[j] = T(v + m.intercept[j])
			}
		}
	}
	if p.sd.Rows == 0 && p.errors.Rows == 0 {
		return
	}
	s.halves.Shape(m.weights.Rows, hi-lo)
	v := s.halves.Rows(m.weights.Rows)
	m.halves(v, phi)
	variances := make([]float64, hi-lo)
	for f := range v.Rows {
		for i, e := range v.Row(f) {
			variances[i] += e * e
		}
	}
	for i, v := range variances {
		v += m.base()
		if p.errors.Rows > 0 {
			p.leaveOut(lo+i, mean.Row(i), v)
			continue
		}
		row := p.sd.Row(lo + i)
		for j := range row {
			row[j] = T(math.Sqrt(m.noise[j] * (v + p.extra)))
		}
	}
}

// halves writes R⁻ᵀ(φ_i − φ̄) into the columns of v (D×n), of the rows φ_i − φ̄ of phi.
func (m *Model[T]) halves(v, phi dense.Matrix[float64]) {
	dense.Transpose(v, phi)
	s := m.factor.solver()
	s.half(context.Background(), v)
	m.factor.solvers.Put(s)
}

// centred writes φ_i − φ̄ into the rows of dst and returns dst. Features of float32 lose no digits
// in the difference, however large φ̄ is.
func centred[T dense.Float](dst dense.Matrix[float64], phi dense.Matrix[T], mean []float64) dense.Matrix[float64] {
	for i := range phi.Rows {
		row := dst.Row(i)
		for f, e := range phi.Row(i) {
			row[f] = float64(e) - mean[f]
		}
	}
	return dst
}

var (
	errNoModel      = errors.New("ridge: the Model is zero, want a fitted one")
	errNoClassifier = errors.New("ridge: the Classifier is zero, want a fitted one")
	errNoMap        = errors.New("ridge: phi is nil, want a feature map")
	errNoData       = errors.New("ridge: rows is nil, want data")
	errNoRows       = errors.New("ridge: no rows, want at least 1 with a weight above 0")
)
