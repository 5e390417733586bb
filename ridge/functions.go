package ridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// Functions are functions drawn from a posterior. Each is one function of all points: its values
// at different points are a joint sample, and at the same point they are the same. Functions never
// change, and goroutines may share them.
type Functions[T dense.Float] struct {
	phi     rff.Map[T]
	mean    []float64             // of features; zeros without an intercept
	weights dense.Matrix[float64] // a column each
	offset  []float64             // value at the mean of features

	// Of pathwise samples; points is nil for others.
	points       kernels.Fixed
	coefficients dense.Matrix[float64]
}

// Len returns the number of functions.
func (f *Functions[T]) Len() int { return len(f.offset) }

// Eval writes the values of the functions at the rows of x (n×d) into dst (n×Len) and returns dst;
// a zero dst is allocated. dst must not overlap x. Eval panics if a shape does not fit. Cost: n
// transforms and n·D multiply-adds per function in T, and for pathwise samples of N rows n·N values
// of the kernel and n·N multiply-adds per function more.
func (f *Functions[T]) Eval(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return instance.Of(&functionsEvalBoth, (*Functions[T]).Eval)(f, dst, x)
}

var functionsEvalBoth = instance.Both{functionsEval[float32], functionsEval[float64]}

func functionsEval[T dense.Float](f *Functions[T], dst, x dense.Matrix[T]) dense.Matrix[T] {
	if f.phi == nil {
		panic("ridge: the Functions are zero, want some of Sample or Pathwise")
	}
	x.Check()
	if d, _ := f.phi.Dims(); x.Cols != d {
		panic(fmt.Sprintf("ridge: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, d))
	}
	dst = dense.Ensure(dst, x.Rows, f.Len())
	values := f.prior(x)
	if f.points != nil {
		k := f.points.Gram(dense.Matrix[float64]{}, dense.Copy(dense.Matrix[float64]{}, x))
		matmul.Mul(1, k, f.coefficients, 1, values)
	}
	for i := range dst.Rows {
		row := dst.Row(i)
		for j, v := range values.Row(i) {
			row[j] = T(v + f.offset[j])
		}
	}
	return dst
}

// prior returns (φ − φ̄)ᵀw of the rows of x.
func (f *Functions[T]) prior(x dense.Matrix[T]) dense.Matrix[float64] {
	phi := f.phi.Transform(dense.Matrix[T]{}, x)
	values := dense.New[float64](x.Rows, f.Len())
	matmul.Mul(1, centred(dense.New[float64](x.Rows, phi.Cols), phi, f.mean), f.weights, 0, values)
	return values
}

// Sample draws n functions f_j from the posterior of output j,
//
//	w = μ_j + σ_j·R⁻¹z,  A = RᵀR,  z ~ N(0, I),
//
// and the intercept from its posterior. Their means and covariances are those of Posterior and
// Covariance. Far from all rows their variance is that of the features, which many rows make small:
// see Pathwise.
//
// An error reports n below 1, an output that is not there, functions that no memory holds, and a
// nil src. Cost: D²/2 multiply-adds per function.
func (m *Model[T]) Sample(n, j int, src rand.Source) (*Functions[T], error) {
	return instance.Of(&modelSampleBoth, (*Model[T]).Sample)(m, n, j, src)
}

var modelSampleBoth = instance.Both{modelSample[float32], modelSample[float64]}

func modelSample[T dense.Float](m *Model[T], n, j int, src rand.Source) (*Functions[T], error) {
	if err := m.checkSample(n, j, src); err != nil {
		return nil, err
	}
	normal := distuv.Normal{Sigma: 1, Src: src}
	sd := math.Sqrt(m.noise[j])
	w, offset := dense.New[float64](m.weights.Rows, n), make([]float64, n)
	for s := range n {
		for i := range w.Rows {
			w.Set(i, s, sd*normal.Rand())
		}
		offset[s] = m.intercept[j] + sd*math.Sqrt(m.base())*normal.Rand()
	}
	solver := m.factor.solver()
	solver.otherHalf(w)
	m.factor.solvers.Put(solver)
	for i := range w.Rows {
		row := w.Row(i)
		for s := range row {
			row[s] += m.weights.At(i, j)
		}
	}
	return &Functions[T]{phi: m.phi, mean: m.mean, weights: w, offset: offset}, nil
}

// Pathwise draws n functions from the posterior of the Gaussian process whose kernel is s²·k, with
// k = Map().Kernel() itself in place of φᵀφ, and the variances of output j [Wilson et al. 2020]: a
// function f = φᵀw of the prior, w ~ N(0, s²I), is corrected by the rows,
//
//	f(·) + s²·k(·, X)·(s²K + σ²Ω⁻¹)⁻¹(y_j − f(X) − ε),  ε ~ N(0, σ²Ω⁻¹), Ω = diag(ω).
//
// Only the prior is approximate: far from all rows the functions vary as much as the prior does,
// where samples of weights have used up their D degrees of freedom. x (N×d), y (N×p) and weights
// are rows as for Add, at best those of the model. The intercept has a flat prior if the model has
// an intercept.
//
// An error reports what Sample and Add report, no rows, a map without a kernel and a kernel matrix
// that is singular to rounding. Cost: N values of the kernel a row, N³/6 multiply-adds, and memory
// for N² numbers of float64.
func (m *Model[T]) Pathwise(x, y dense.Matrix[T], weights []T, n, j int, src rand.Source) (*Functions[T], error) {
	return instance.Of(&modelPathwiseBoth, (*Model[T]).Pathwise)(m, x, y, weights, n, j, src)
}

var modelPathwiseBoth = instance.Both{modelPathwise[float32], modelPathwise[float64]}

func modelPathwise[T dense.Float](m *Model[T], x, y dense.Matrix[T], weights []T, n, j int, src rand.Source) (*Functions[T], error) {
	if err := m.checkSample(n, j, src); err != nil {
		return nil, err
	}
	if err := checkRows(x, y, weights, x.Cols, m.weights.Cols); err != nil {
		return nil, err
	}
	if d, _ := m.phi.Dims(); x.Cols != d || x.Rows < 1 {
		return nil, fmt.Errorf("ridge: x is %d×%d, want at least 1 row and %d columns", x.Rows, x.Cols, d)
	}
	if err := limit.Memory[float64](x.Rows, x.Rows); err != nil {
		return nil, fmt.Errorf("ridge: the kernel matrix of %d rows: %w", x.Rows, err)
	}
	if err := limit.Memory[float64](x.Rows, n); err != nil {
		return nil, fmt.Errorf("ridge: n = %d functions at %d rows: %w", n, x.Rows, err)
	}
	kernel := m.phi.Kernel()
	if kernel == nil {
		return nil, errors.New("ridge: the map has no kernel")
	}
	for i, w := range weights {
		if w == 0 {
			return nil, fmt.Errorf("ridge: weights[%d] = 0, want a positive number", i)
		}
	}
	points, err := kernels.Against(kernel, dense.Copy(dense.Matrix[float64]{}, x))
	if err != nil {
		return nil, wrap(err)
	}
	f := &Functions[T]{phi: m.phi, mean: make([]float64, m.weights.Rows), points: points, offset: make([]float64, n)}
	normal := distuv.Normal{Sigma: 1, Src: src}
	f.weights = dense.New[float64](m.weights.Rows, n)
	for i := range f.weights.Data {
		f.weights.Data[i] = math.Sqrt(m.prior[j]) * normal.Rand()
	}

	// The residuals y − f(X) − ε, and the ones of the intercept.
	prior := f.prior(x)
	rest := dense.New[float64](x.Rows, n+1)
	c := points.Gram(dense.Matrix[float64]{}, points.Points())
	for i := range x.Rows {
		noise := m.noise[j]
		if weights != nil {
			noise /= float64(weights[i])
		}
		row := rest.Row(i)
		for s := range n {
			row[s] = float64(y.At(i, j)) - prior.At(i, s) - math.Sqrt(noise)*normal.Rand()
		}
		row[n] = 1
		for l := range c.Row(i) {
			c.Row(i)[l] *= m.prior[j]
		}
		c.Row(i)[i] += noise
	}
	factor, err := newCholesky(context.Background(), c)
	if err != nil {
		return nil, fmt.Errorf("ridge: the kernel matrix of x is singular to rounding: %w", err)
	}
	solution := rest.Clone()
	factor.solve(solution)
	if m.centred {
		sums := make([]float64, n+1)
		for i := range solution.Rows {
			for s, v := range solution.Row(i) {
				sums[s] += v
			}
		}
		for s := range n {
			f.offset[s] = sums[s] / sums[n]
		}
	}
	f.coefficients = dense.New[float64](x.Rows, n)
	for i := range f.coefficients.Rows {
		row, from := f.coefficients.Row(i), solution.Row(i)
		for s := range row {
			row[s] = m.prior[j] * (from[s] - f.offset[s]*from[n])
		}
	}
	return f, nil
}

// checkSample returns an error unless n functions of output j can be drawn.
func (m *Model[T]) checkSample(n, j int, src rand.Source) error {
	switch {
	case n < 1:
		return fmt.Errorf("ridge: n = %d, want at least 1", n)
	case j < 0 || j >= m.weights.Cols:
		return fmt.Errorf("ridge: output %d, want one of the %d from 0 on", j, m.weights.Cols)
	case src == nil:
		return errors.New("ridge: src is nil, want a source of randomness")
	}
	if err := limit.Memory[float64](m.weights.Rows, n); err != nil {
		return fmt.Errorf("ridge: n = %d functions of %d features: %w", n, m.weights.Rows, err)
	}
	return nil
}
