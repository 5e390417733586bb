package automl

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
)

// rowWeights returns the weights c of the exact fit f(x) = Σ_i c_i·k(x, x_i) + ȳ, with those of an
// output in each row.
func (s *search) rowWeights(k kernels.Kernel, b ridge.Block[float64], ratio float64) (c dense.Matrix[float64], err error) {
	gram := dense.New[float64](b.X.Rows, b.X.Rows)
	if err := interrupt.Await(s.ctx, func() { kernels.Gram(gram, k, b.X, dense.Matrix[float64]{}) }); err != nil {
		return c, err
	}
	if c, _, err = gramian.Direct(s.ctx, gram, b.Y, b.Weights, ratio); err != nil {
		return c, err
	}
	return dense.Transpose(dense.Matrix[float64]{}, c.ColRange(0, b.Y.Cols)), nil
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
