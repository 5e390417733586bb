package ridge

import (
	"context"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Gradient writes the gradient of LogEvidence with respect to the features of rows that the model was
// fitted to into dst (n×D) and returns dst; a zero dst is allocated. Row i is
//
//	∂/∂φ(x_i) = ω_i·( Σ_j (y_ij − f_j(x_i))/σ_j²·μ_j − p·A⁻¹(φ(x_i) − φ̄) ),
//
// with the means f_j and the p outputs. The variances are constants: those of maximum evidence
// change the evidence in second order only, and with given ones all else is fixed. Backward of a map
// that is [rff.Differentiable] takes these rows on to the points, and to whatever made the points.
//
// x, y and weights are some or all of the rows, as for Add, and dst overlaps none of them. Sums are
// float64 and rows are rounded to T, where large numbers of float32 overflow to ±Inf. Gradient returns
// the errors of Add. Cost: n transforms and n·D² multiply-adds in float64, twice those of sums.
func (m *Model[T]) Gradient(dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	return instance.Of(&modelGradientBoth, (*Model[T]).Gradient)(m, dst, x, y, weights)
}

var modelGradientBoth = instance.Both{modelGradient[float32], modelGradient[float64]}

func modelGradient[T dense.Float](m *Model[T], dst, x, y dense.Matrix[T], weights []T) (dense.Matrix[T], error) {
	if m.phi == nil {
		return dst, errNoModel
	}
	d, _ := m.phi.Dims()
	if err := checkRows(x, y, weights, d, m.weights.Cols); err != nil {
		return dst, err
	}
	dst = dense.Ensure(dst, x.Rows, m.weights.Rows)
	parallel.Do((x.Rows+predictRows-1)/predictRows, &slopes[T]{m: m, rows: Block[T]{x, y, weights}, dst: dst})
	return dst, nil
}

// slopes is the task that writes gradients, some rows a piece.
type slopes[T dense.Float] struct {
	m    *Model[T]
	rows Block[T]
	dst  dense.Matrix[T]
}

// slopeSpace is the memory of a piece.
type slopeSpace[T dense.Float] struct {
	phi                   scratch.Buffer[T]
	centred, residuals, v scratch.Buffer[float64]
}

var slopeSpaces pool.Pair[slopeSpace[float32], slopeSpace[float64]]

func (t *slopes[T]) Piece(piece int) {
	m, lo := t.m, piece*predictRows
	rows := t.rows.slice(lo, min(lo+predictRows, t.rows.X.Rows))
	n, width, outputs := rows.X.Rows, m.weights.Rows, m.weights.Cols
	s := pool.Get[slopeSpace[T]](&slopeSpaces)
	defer pool.Put(&slopeSpaces, s)
	s.phi.Shape(n, width)
	s.centred.Shape(n, width)
	s.residuals.Shape(n, outputs)
	s.v.Shape(width, n)
	phi := centred(s.centred.Rows(n), m.phi.Transform(s.phi.Rows(n), rows.X), m.mean)
	rest := s.residuals.Rows(n)
	matmul.Mul(-1, phi, m.weights, 0, rest)
	for i := range n {
		for j, y := range rows.Y.Row(i) {
			rest.Row(i)[j] = (rest.Row(i)[j] + (float64(y) - m.intercept[j])) / m.noise[j]
		}
	}
	v := dense.Transpose(s.v.Rows(width), phi)
	solver := m.factor.solver()
	solver.half(context.Background(), v)
	solver.otherHalf(v)
	m.factor.solvers.Put(solver)

	g := dense.Transpose(phi, v)
	matmul.MulT(1, rest, m.weights, -float64(outputs), g)
	for i := range n {
		w := rows.weight(i)
		to := t.dst.Row(lo + i)
		if w == 0 {
			clear(to) // also where the features are infinite
			continue
		}
		for f, v := range g.Row(i) {
			to[f] = T(w * v)
		}
	}
}
