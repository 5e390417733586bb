package ridge

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
)

// LeaveOneOut writes the errors y_ij − f_j^(−i)(x_i) into dst (n×p) and returns dst, where f^(−i)
// is the mean of the model with the same λ, fitted to all rows except row i:
//
//	(y_ij − f_j(x_i)) / (1 − h_i),  h_i = ω_i·( (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω ).
//
// x, y and weights are some or all rows of the fit, as Sums.Add takes rows. The error of a row is
// NaN if no other row determines its prediction. LeaveOneOut allocates dst if dst is the zero
// Matrix, and dst may be y. LeaveOneOut returns an error where Sums.Add does. Cost: as Predict.
func (m *Model[T]) LeaveOneOut(dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	return m.rowwise(dst, x, y, weights, y.Cols, m.leaveOut)
}

// Variances returns the means of f_j at the rows of x (n×d), and the two parts g and r of their
// variances in units of the noise σ_j²,
//
//	g_i = (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω,  r_i = (k(x_i, x_i) − ‖φ_i‖²)/λ.
//
// The standard deviation of Posterior is σ_j·√(g_i + r_i), with the results g and r of Variances.
// The result r is 0 unless the map has landmarks. A row of the fit has the leverage ω_i·g_i, and
// the leverages of all rows sum to DegreesOfFreedom. Variances panics where Predict does, at the
// cost of Predict.
func (m *Model[T]) Variances(x dense.Matrix[T]) (mean dense.Matrix[T], g, r []float64) {
	features.CheckPoints("ridge", m.phi, x)
	mean, g, r = dense.New[T](x.Rows, len(m.prior)), make([]float64, x.Rows), make([]float64, x.Rows)
	m.source.Each(m.rows(), m.regression.FeatureMean, x, dense.Matrix[T]{}, nil, mean, dense.Matrix[T]{}, func(rows *features.Rows) {
		m.regression.Mean(rows)
		for i, v := range m.root.variances(rows.Phi) {
			g[rows.Lo+i], r[rows.Lo+i] = v+m.regression.Base, rows.Residuals[i]/m.regression.Ratio
		}
	})
	if m.exact != nil {
		m.Mean(mean, x)
	}
	return mean, g, r
}

// rowwise writes the results of f for the rows into dst, n×width.
func (m *Model[T]) rowwise(dst, x, y dense.Matrix[T], weights []T, width int, f func(r *features.Rows)) (dense.Matrix[T], error) {
	if m.phi == nil {
		return dst, errNoModel
	}
	if m.exact != nil {
		return dst, errExact
	}
	d, _ := m.phi.Dims()
	if err := checkRows(x, y, weights, d, len(m.prior)); err != nil {
		return dst, err
	}
	dst = dense.Ensure(dst, x.Rows, width)
	m.source.Each(m.rows(), m.regression.FeatureMean, x, y, weights, dst, dense.Matrix[T]{}, f)
	return dst, nil
}
