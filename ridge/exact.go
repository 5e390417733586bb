package ridge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// exact is the part Σ_i a_i·k(x, x_i) of means that package kernelridge fits.
type exact[T dense.Float] struct {
	rows dense.Matrix[T] // x_i, n×d
	*gramian.Expansion
}

func newExact[T dense.Float](k kernels.Kernel, rows dense.Matrix[T], a dense.Matrix[float64]) *exact[T] {
	return &exact[T]{rows, gramian.NewExpansion(k, dense.Copy(dense.Matrix[float64]{}, rows), a)}
}

func (e *exact[T]) at(x dense.Matrix[T], b []float64) dense.Matrix[float64] {
	sums := dense.New[float64](x.Rows, len(b))
	for i := range sums.Rows {
		copy(sums.Row(i), b)
	}
	e.Add(sums, dense.Copy(dense.Matrix[float64]{}, x))
	return sums
}

// WithKernel returns a model whose means are sums of values of the kernel k = Map().Kernel(),
//
//	f_j(x) = b_j + Σ_i a_ij·k(x, x_i).
//
// The rows x_i are those of the argument x of WithKernel, and kernelridge.Fit computes the
// coefficients a_ij and, for each output j, the intercept b_j and the variance of the noise.
// Standard deviations of a model from WithKernel come from the features and the argument noise, and
// are too large if the features have few landmarks. For a model from WithKernel, LogEvidence and
// the weights of Weights are 0, and LeaveOneOut and Jackknife return an error.
//
// For each row, Mean of the returned model computes n values of the kernel, one for each of the n
// rows of the argument x of WithKernel. WithKernel returns an error for a zero model, a map without
// a kernel, and noise ≤ 0.
func (m *Model[T]) WithKernel(x dense.Matrix[T], a dense.Matrix[float64], b, noise []float64) (*Model[T], error) {
	if m.phi == nil {
		return nil, errNoModel
	}
	p := len(m.prior)
	if len(b) != p || len(noise) != p {
		return nil, fmt.Errorf("ridge: %d means and %d noises of %d outputs", len(b), len(noise), p)
	}
	if err := cmp.Or(checkExact(m.phi.Kernel(), x, a, p), argument.FiniteAll("b", b)); err != nil {
		return nil, wrap(err)
	}
	with := *m
	with.regression.Weights = dense.New[float64](m.regression.Weights.Rows, p)
	with.regression.TargetMean, with.regression.Noise = slices.Clone(b), slices.Clone(noise)
	with.evidence, with.prior, with.accuracy = 0, nil, Accuracy{}
	for _, v := range noise {
		with.prior = append(with.prior, v/m.regression.Ratio)
	}
	with.exact = newExact(m.phi.Kernel(), x.Clone(), a.Clone())
	return &with, with.checkVariances()
}

// Rows returns copies of the arguments x and a of WithKernel, or empty matrices without WithKernel.
func (m *Model[T]) Rows() (x dense.Matrix[T], a dense.Matrix[float64]) {
	if m.exact == nil {
		return x, a
	}
	return m.exact.rows.Clone(), m.exact.Weights.Clone()
}

var errExact = errors.New("ridge: the means of the model are functions of a kernel at rows, whose errors at rows left out kernelridge.Fit returns")

func checkExact[T dense.Float](k kernels.Kernel, x dense.Matrix[T], a dense.Matrix[float64], p int) error {
	if k == nil {
		return errors.New("the map has no kernel")
	}
	if err := kernels.Check(k); err != nil {
		return err
	}
	if x.Rows < 1 || a.Rows != x.Rows || a.Cols != p {
		return fmt.Errorf("%d rows and %d×%d weights, want at least one row, and %d weights for each", x.Rows, a.Rows, a.Cols, p)
	}
	return cmp.Or(argument.Finite("rows", x), argument.Finite("weights of rows", a))
}

// Classifier returns a classifier whose scores are the means of the receiver m, a model of class
// indicators y: y_ij is 1 if row i has class j, and 0 otherwise. Row i of the argument leftOut has
// the errors y_i − f⁻ⁱ(x_i) of a fit f⁻ⁱ without row i, such as those of LeaveOneOut or of
// kernelridge.Fit. From the errors leftOut, Classifier computes the inverse temperature and the
// mixture of scores of least loss, as Classify does, and returns the loss too. The argument labels
// of Classifier has the texts of classes as ClassifyOptions.Labels. Classifier returns an error for
// a zero model, and rows of y that are not one 1 among zeros.
func (m *Model[T]) Classifier(y dense.Matrix[T], weights []T, leftOut dense.Matrix[float64], labels []string) (*Classifier[T], float64, error) {
	if m.phi == nil {
		return nil, 0, errNoModel
	}
	p := len(m.prior)
	if err := (ClassifyOptions{Classes: p, Labels: labels}).check(); err != nil {
		return nil, 0, err
	}
	if leftOut.Rows < 1 || leftOut.Rows != y.Rows || leftOut.Cols != p {
		return nil, 0, fmt.Errorf("ridge: errors at rows left out are %d×%d, want %d×%d", leftOut.Rows, leftOut.Cols, y.Rows, p)
	}
	if err := cmp.Or(checkRows(y, y, weights, p, p), argument.Finite("ridge: errors at rows left out", leftOut)); err != nil {
		return nil, 0, err
	}
	scores, classes, shares := leftOut.Clone(), make([]int, y.Rows), make([]float64, y.Rows)
	for i := range scores.Rows {
		row := y.Row(i)
		c := slices.Index(row, 1)
		if c < 0 {
			return nil, 0, fmt.Errorf("ridge: row %d of y is no indicator of a class", i)
		}
		classes[i], shares[i] = c, Block[T]{Weights: weights}.Weight(i)
		for j, v := range row {
			scores.Set(i, j, float64(v)-scores.At(i, j))
		}
	}
	floats.Scale(floats.Sum(shares)/floats.Dot(shares, shares), shares)
	beta, loss := temperatureOf(scores, classes, shares)
	mixed, loss := mixture(scores, classes, shares, beta, loss)
	if !(loss < math.Inf(1)) {
		return nil, 0, fmt.Errorf("ridge: the loss of the classes is %v, want a finite number", loss)
	}
	if m.exact == nil {
		return newClassifier(m.phi, m.regression, beta, mixed, labels), loss, nil
	}
	a, offset := dense.New[float64](m.exact.rows.Rows, p), make([]T, p)
	matmul.Mul(beta, m.exact.Weights, dense.Of(p, p, mixed.Data[:p*p]), 0, a)
	for j := range offset {
		offset[j] = T(score(m.regression.TargetMean, beta, mixed, j))
	}
	width := m.regression.Weights.Rows
	return &Classifier[T]{
		phi: m.phi, mean: make([]T, width), weights: dense.New[T](width, p), offset: offset, labels: slices.Clone(labels),
		exact: newExact(m.phi.Kernel(), m.exact.rows, a),
	}, loss, nil
}

func score(f []float64, beta float64, mixed dense.Matrix[float64], j int) float64 {
	v := mixed.At(len(f), j)
	for l, mean := range f {
		v += beta * mean * mixed.At(l, j)
	}
	return v
}
