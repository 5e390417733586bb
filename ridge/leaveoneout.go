package ridge

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
)

// For row i and output j, LeaveOneOut writes the error y_ij − f_j^(−i)(x_i) into dst and returns
// dst, where f^(−i) is the mean of a model with equal penalty λ and without row i:
//
//	(y_ij − f_j(x_i)) / (1 − h_i),  h_i = ω_i·( (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω ).
//
// The arguments x, y and weights of LeaveOneOut are some or all rows of the fit, as for Sums.Add.
// LeaveOneOut writes NaN for a row whose prediction no other row determines. LeaveOneOut allocates
// dst if dst is zero, and dst may be y. For n rows and D features, LeaveOneOut costs n transforms
// by the feature map and n·D²/2 multiply-adds. LeaveOneOut returns an error for rows that Sums.Add
// refuses, for a zero Model, and for a model from WithKernel.
func (m *Model[T]) LeaveOneOut(dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	return m.rowwise(dst, x, y, weights, m.leaveOut)
}

// For each row x_i of x, Variances returns the mean of each output, and the parts g_i and r_i of
// the variance of each output in units of the noise variance:
//
//	g_i = (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω,  r_i = (k(x_i, x_i) − ‖φ_i‖²)/λ.
//
// With the noise variance σ_j² of output j, the standard deviation of Posterior is σ_j·√(g_i +
// r_i). The result r of Variances is 0 unless the feature map has landmarks. Row i of the fit with
// weight ω_i has the leverage ω_i·g_i; leverages sum to DegreesOfFreedom. Variances panics where
// Predict panics.
func (m *Model[T]) Variances(x dense.Matrix[T]) (mean dense.Matrix[T], g, r []float64) {
	features.CheckPoints("ridge", m.phi, x)
	mean, g, r = dense.New[T](x.Rows, len(m.prior)), make([]float64, x.Rows), make([]float64, x.Rows)
	m.source.Each(m.rows(), m.regression.FeatureMean, x, dense.Matrix[T]{}, nil, mean, dense.Matrix[T]{}, func(rows *features.Design) {
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

func (m *Model[T]) rowwise(dst, x, y dense.Matrix[T], weights []T, f func(r *features.Design)) (dense.Matrix[T], error) {
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
	dst = dense.Ensure(dst, x.Rows, y.Cols)
	m.source.Each(m.rows(), m.regression.FeatureMean, x, y, weights, dst, dense.Matrix[T]{}, f)
	return dst, nil
}
