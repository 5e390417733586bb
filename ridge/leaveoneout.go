package ridge

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/instance"
)

// LeaveOneOut writes the errors y_ij − f_j^(−i)(x_i) of rows that the model was fitted to into dst
// (n×p) and returns dst; a zero dst is allocated. f^(−i) is the mean of the model of all rows but
// row i, of the same λ:
//
//	(y_ij − f_j(x_i)) / (1 − h_i),  h_i = ω_i·( (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω ).
//
// x, y and weights are some or all of the rows, as for Add. The error is NaN for a row that alone
// decides its prediction. dst may be y. LeaveOneOut returns the errors of Add. Cost: as Predict.
func (m *Model[T]) LeaveOneOut(dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	return instance.Of(&modelLeaveOneOutBoth, (*Model[T]).LeaveOneOut)(m, dst, x, y, weights)
}

var modelLeaveOneOutBoth = instance.Both{modelLeaveOneOut[float32], modelLeaveOneOut[float64]}

func modelLeaveOneOut[T dense.Float](m *Model[T], dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	if m.phi == nil {
		return dst, errNoModel
	}
	d, _ := m.phi.Dims()
	if err := checkRows(x, y, weights, d, m.weights.Cols); err != nil {
		return dst, err
	}
	dst = dense.Ensure(dst, y.Rows, y.Cols)
	m.run(&prediction[T]{m: m, x: x, errors: dst, y: y, weights: weights})
	return dst, nil
}

// leaveOut writes the errors of row i from the means about the intercept and the variance of f in
// units of the noise. Targets and means are rounded to T only after their difference is taken, which
// may be far smaller than they are.
func (p *prediction[T]) leaveOut(i int, means []float64, h float64) {
	if p.weights != nil {
		h *= float64(p.weights[i])
	}
	row := p.errors.Row(i)
	for j, v := range p.y.Row(i) {
		e := (float64(v) - p.m.intercept[j] - means[j]) / (1 - h)
		if !(h < 1) {
			e = math.NaN()
		}
		row[j] = T(e)
	}
}
