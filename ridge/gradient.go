package ridge

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Gradient writes the gradient of LogEvidence with respect to the features of rows of the fit into
// dst, a column for each feature, and returns dst; a zero dst is allocated. Row i is
//
//	∂/∂φ(x_i) = ω_i·( Σ_j (y_ij − f_j(x_i))/σ_j²·μ_j − p·A⁻¹(φ(x_i) − φ̄) ).
//
// Gradient treats the variances of noise and weights as constants: a change of variances of maximum
// evidence changes the evidence in second order only. From the result dst of Gradient, the method
// Backward of an [rff.Differentiable] map computes the gradient with respect to the points.
//
// The arguments x, y and weights of Gradient are some or all rows of the fit, as for Sums.Add, and
// must not overlap dst. Gradient returns an error where Sums.Add does and for models of WithKernel.
// For n rows and D features, Gradient costs n feature transforms and n·D² multiply-adds.
func (m *Model[T]) Gradient(dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	return m.rowwise(dst, x, y, weights, m.regression.Weights.Rows, m.slopes)
}

func (p *posterior) slopes(r *features.Rows) {
	n, g := r.Phi.Rows, &p.regression
	space := slopeSpaces.Get()
	defer slopeSpaces.Put(space)
	space.residuals.Shape(n, g.Weights.Cols)
	space.v.Shape(p.root.rows(), n)
	rest := space.residuals.Rows(n)
	matmul.Mul(-1, r.Phi, g.Weights, 0, rest)
	for i := range n {
		row := rest.Row(i)
		for j, y := range r.Y.Row(i) {
			row[j] = (row[j] + (y - g.TargetMean[j])) / g.Noise[j]
		}
	}
	v := space.v.Rows(p.root.rows())
	p.root.times(v, r.Phi)
	r.First.Shape(n, g.Weights.Rows)
	slopes := dense.Transpose(r.First.Rows(n), p.root.transposed(v))
	matmul.MulT(1, rest, g.Weights, -float64(g.Weights.Cols), slopes)
	for i, w := range r.Weights {
		row := slopes.Row(i)
		if w == 0 {
			clear(row) // the features may be infinite
			continue
		}
		for f := range row {
			row[f] *= w
		}
	}
}

type slopeSpace struct{ residuals, v scratch.Buffer[float64] }

var slopeSpaces pool.Of[slopeSpace]
