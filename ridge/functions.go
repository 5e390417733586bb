package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/law/residual"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// Functions are functions drawn from the posterior of a Model. The values of one of the Functions
// at several points are a joint sample, and all calls of Eval at a point return equal values. A
// Functions value never changes, and goroutines may share the value.
type Functions[T dense.Float] struct {
	phi    rff.Map[T]
	source features.Source[T]
	draws
}

type draws struct {
	mean    []float64             // φ̄; zeros without an intercept
	weights dense.Matrix[float64] // a column for each function
	offset  []float64             // values at φ = φ̄
	rows    *gramian.Expansion    // of Pathwise and of models of WithKernel, or nil
}

// For each row of x, Eval writes the values of all functions into a row of dst, and returns dst; a
// zero dst is allocated. The result dst of Eval must not overlap x. Eval panics if the shape of x
// or dst does not fit. For n rows and D features Eval costs n transforms by the feature map, and
// n·D multiply-adds in float64 per function. For functions that Pathwise drew with N rows, Eval
// also costs n·N values of the kernel, and n·N multiply-adds per function, at n rows.
func (f *Functions[T]) Eval(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if f.phi == nil {
		panic("ridge: the Functions are zero, want some of Sample or Pathwise")
	}
	x.Check()
	if d, _ := f.phi.Dims(); x.Cols != d {
		panic(fmt.Sprintf("ridge: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, d))
	}
	dst = dense.Ensure(dst, x.Rows, len(f.offset))
	phi := f.source.Centred(dense.New[float64](x.Rows, len(f.mean)), x, f.mean)
	values := f.prior(phi)
	if f.rows != nil {
		f.rows.Add(values, dense.Copy(dense.Matrix[float64]{}, x))
	}
	for i := range values.Rows {
		floats.Add(values.Row(i), f.offset)
	}
	return dense.Copy(dst, values)
}

func (d *draws) prior(phi dense.Matrix[float64]) dense.Matrix[float64] {
	values := dense.New[float64](phi.Rows, len(d.offset))
	matmul.Mul(1, phi, d.weights, 0, values)
	return values
}

// Sample draws n functions from the posterior of output j: weights w = μ_j + σ_j·R⁻¹z for the
// posterior mean μ_j, the covariance σ_j²·(RᵀR)⁻¹ and z ~ N(0, I), and intercepts from the
// posterior of the intercept. Functions of Sample have the means and variances of Posterior,
// without the part of the variance outside the span of landmarks. With many rows, the variance of
// functions far from all rows is too small: see Pathwise. With D features, Sample takes D²/2
// multiply-adds per function. Sample returns an error for n < 1 and a j that is no output.
func (m *Model[T]) Sample(n, j int, src rand.Source) (*Functions[T], error) {
	if err := m.checkSample(n, j, src); err != nil {
		return nil, err
	}
	d := m.sample(n, j, src)
	if m.exact != nil {
		a := dense.New[float64](m.exact.rows.Rows, n)
		for i := range a.Data {
			a.Data[i] = m.exact.Weights.At(i/n, j)
		}
		d.rows = newExact(m.phi.Kernel(), m.exact.rows, a).Expansion
	}
	return &Functions[T]{m.phi, m.source, *d}, nil
}

func (p *posterior) sample(n, j int, src rand.Source) *draws {
	r := &p.regression
	normal := distuv.Normal{Sigma: 1, Src: src}
	sd := math.Sqrt(r.Noise[j])
	z, offset := dense.New[float64](p.root.rows(), n), make([]float64, n)
	for s := range n {
		for i := range z.Rows {
			z.Set(i, s, sd*normal.Rand())
		}
		offset[s] = r.TargetMean[j] + sd*math.Sqrt(r.Base)*normal.Rand()
	}
	w := p.root.transposed(z)
	for i := range w.Rows {
		row := w.Row(i)
		for s := range row {
			row[s] += r.Weights.At(i, j)
		}
	}
	return &draws{mean: r.FeatureMean, weights: w, offset: offset}
}

// Pathwise draws n functions from the posterior of the Gaussian process with the exact kernel s²·k,
// k = Map().Kernel(), for the prior variance s² and the noise variance σ² of output j [Wilson et
// al. 2020]. Pathwise corrects a function f = φᵀw of the prior, w ~ N(0, s²I), by the points X in
// the rows of x with targets y and weights Ω = diag(ω):
//
//	f(·) + s²·k(·, X)·(s²K + σ²Ω⁻¹)⁻¹(y_j − f(X) − ε),  ε ~ N(0, σ²Ω⁻¹).
//
// Far from all rows of x, the values of the functions have the prior variance s²·k(·, ·). If the
// feature map has landmarks, Pathwise draws functions of the prior with 2048 features of
// rff.Random. Pathwise returns the errors of Model.Sample and Sums.Add, and an error for an x
// without rows, a map without a kernel, a weight of 0, a kernel of landmarks that rff.Random
// refuses, and a kernel matrix that is singular to rounding. For N rows Pathwise takes N² values of
// the kernel, N³/6 multiply-adds and N² numbers of memory.
func (m *Model[T]) Pathwise(x, y dense.Matrix[T], weights []T, n, j int, src rand.Source) (*Functions[T], error) {
	if err := m.checkSample(n, j, src); err != nil {
		return nil, err
	}
	if err := checkRows(x, y, weights, x.Cols, len(m.prior)); err != nil {
		return nil, err
	}
	if d, _ := m.phi.Dims(); x.Cols != d || x.Rows < 1 {
		return nil, fmt.Errorf("ridge: x is %d×%d, want at least 1 row and %d columns", x.Rows, x.Cols, d)
	}
	if err := checkPathwise(x.Rows, n); err != nil {
		return nil, err
	}
	prior, source := m.phi, m.source
	if residual.Of[T](prior) != nil {
		var err error
		if prior, err = rff.Random[T](prior.Kernel(), priorFeatures, x.Cols, src); err != nil {
			return nil, fmt.Errorf("ridge: features of the prior: %w", err)
		}
		source = features.New(prior)
	}
	_, width := prior.Dims()
	phi := source.Centred(dense.New[float64](x.Rows, width), x, make([]float64, width))
	points, targets := dense.Copy(dense.Matrix[float64]{}, x), dense.Copy(dense.Matrix[float64]{}, y.ColRange(j, j+1))
	var wide []float64
	if weights != nil {
		wide = dense.Copy(dense.Matrix[float64]{}, dense.Of(1, len(weights), weights)).Data
	}
	d, err := m.pathwise(phi, points, targets.Data, wide, m.phi.Kernel(), n, j, src)
	if err != nil {
		return nil, err
	}
	return &Functions[T]{prior, source, *d}, nil
}

// priorFeatures is the number of features of the prior if those of the model vanish far away.
const priorFeatures = 2048

func checkPathwise(rows, n int) error {
	if err := limit.Memory[float64](rows, rows); err != nil {
		return fmt.Errorf("ridge: the kernel matrix of %d rows: %w", rows, err)
	}
	if err := limit.Memory[float64](rows, n); err != nil {
		return fmt.Errorf("ridge: n = %d functions at %d rows: %w", n, rows, err)
	}
	return nil
}

func (p *posterior) pathwise(phi, points dense.Matrix[float64], y, weights []float64, kernel kernels.Kernel, n, j int, src rand.Source) (*draws, error) {
	if kernel == nil {
		return nil, errors.New("ridge: the map has no kernel")
	}
	if err := kernels.Check(kernel); err != nil {
		return nil, wrap(err)
	}
	for i, w := range weights {
		if w == 0 {
			return nil, fmt.Errorf("ridge: weights[%d] = 0, want a positive number", i)
		}
	}
	d := &draws{mean: make([]float64, phi.Cols), offset: make([]float64, n), weights: dense.New[float64](phi.Cols, n)}
	normal := distuv.Normal{Sigma: 1, Src: src}
	for i := range d.weights.Data {
		d.weights.Data[i] = math.Sqrt(p.prior[j]) * normal.Rand()
	}

	// The residuals y − f(X) − ε, and a column of ones for the intercept.
	prior := d.prior(phi)
	rest := dense.New[float64](points.Rows, n+1)
	c := kernels.Gram(dense.Matrix[float64]{}, kernel, points, points)
	for i := range rest.Rows {
		noise := p.regression.Noise[j]
		if weights != nil {
			noise /= weights[i]
		}
		row := rest.Row(i)
		for s := range n {
			row[s] = y[i] - prior.At(i, s) - math.Sqrt(noise)*normal.Rand()
		}
		row[n] = 1
		for l := range c.Row(i) {
			c.Row(i)[l] *= p.prior[j]
		}
		c.Row(i)[i] += noise
	}
	factor, err := cholesky.New(context.Background(), c)
	if err != nil {
		return nil, fmt.Errorf("ridge: the kernel matrix of x is singular to rounding: %w", err)
	}
	factor.Solve(rest)
	if p.centred {
		d.offset = gramian.Offsets(rest)
	}
	a := dense.New[float64](rest.Rows, n)
	for i := range rest.Rows {
		row, from := a.Row(i), rest.Row(i)
		for s := range row {
			row[s] = p.prior[j] * (from[s] - d.offset[s]*from[n])
		}
	}
	d.rows = gramian.NewExpansion(kernel, points, a)
	return d, nil
}

func (p *posterior) checkSample(n, j int, src rand.Source) error {
	switch {
	case n < 1:
		return fmt.Errorf("ridge: n = %d, want at least 1", n)
	case j < 0 || j >= p.regression.Weights.Cols:
		return fmt.Errorf("ridge: output %d, want one of the %d from 0 on", j, p.regression.Weights.Cols)
	case src == nil:
		return errors.New("ridge: src is nil, want a source of randomness")
	}
	if err := limit.Memory[float64](p.regression.Weights.Rows, n); err != nil {
		return fmt.Errorf("ridge: n = %d functions of %d features: %w", n, p.regression.Weights.Rows, err)
	}
	return nil
}
