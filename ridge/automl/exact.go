package automl

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
)

// rowWeights returns the weights c of the exact fit f(x) = Σ_i c_i·k(x, x_i) + ȳ, with those of an
// output in each row:
//
//	c = A⁻¹·(y − ȳ),  A = K + λ/ω,  with the mean ȳ for which Σ_i c_i = 0.
func (s *search) rowWeights(k kernels.Kernel, b ridge.Block[float64], ratio float64) (dense.Matrix[float64], error) {
	n, outputs := b.X.Rows, b.Y.Cols
	c, gram := dense.New[float64](n, outputs+1), dense.New[float64](n, n)
	if err := interrupt.Await(s.ctx, func() { kernels.Gram(gram, k, b.X, dense.Matrix[float64]{}) }); err != nil {
		return c, err
	}
	for i, w := range b.Weights {
		gram.Row(i)[i] += ratio / w
		copy(c.Row(i), b.Y.Row(i))
		c.Set(i, outputs, 1)
	}
	factor, err := cholesky.New(s.ctx, gram)
	if err != nil {
		return c, err
	}
	factor.Solve(c)
	c = dense.Transpose(dense.Matrix[float64]{}, c)
	ones := c.Row(outputs)
	for o := range outputs {
		floats.AddScaled(c.Row(o), -floats.Sum(c.Row(o))/floats.Sum(ones), ones)
	}
	return c.RowRange(0, outputs), nil
}

// outerProduct returns the sum of ∂f/∂z·(∂f/∂z)ᵀ over the rows z (n×d) and the outputs of a fit
// with a Gaussian k and the weights c of rowWeights,
//
//	∂f/∂z ∝ Σ_i c_i·k(z, z_i)·(z_i − z),  without the factor 1/ℓ².
//
// It takes n²·d multiply-adds for each output.
func (s *search) outerProduct(k kernels.Kernel, z, c dense.Matrix[float64]) (*mat.SymDense, error) {
	m, gram := mat.NewSymDense(z.Cols, nil), kernels.Gram(dense.Matrix[float64]{}, k, z, dense.Matrix[float64]{})
	weighted, slopes := dense.New[float64](z.Rows, z.Cols), mat.NewDense(z.Rows, z.Cols, nil)
	for o := range c.Rows {
		if err := s.ctx.Err(); err != nil {
			return m, err
		}
		for i, w := range c.Row(o) {
			floats.ScaleTo(weighted.Row(i), w, z.Row(i))
		}
		slopes.Mul(gonum.ToMat(gram), gonum.ToMat(weighted))
		for i := range z.Rows {
			floats.AddScaled(slopes.RawRowView(i), -floats.Dot(gram.Row(i), c.Row(o)), z.Row(i))
		}
		m.SymRankK(m, 1, slopes.T())
	}
	return m, nil
}
