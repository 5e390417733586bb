package ridge

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/ridge/internal/platt"
)

const mixtureSteps = 300

// mixture returns the M ((classes + 1)×classes) that minimises, with the mean of the losses,
//
//	−Σ_i ω_i·log P_i(c_i) + ½·‖M − M_0‖²,  P_i = softmax((β·s_i, 1)·M),  M_0 = (I, 0)ᵀ,
//
// or M_0 unless the sum of the losses falls by more than ½·(C² − 1)·log n, n = Σω [Schwarz 1978].
// Steps have the bound ½·Σ_i ω_i·(β·s_i, 1)ᵀ(β·s_i, 1) + I of second derivatives [Böhning 1992].
func mixture(scores dense.Matrix[float64], labels []int, weights []float64, beta, loss float64) (dense.Matrix[float64], float64) {
	n, classes := scores.Rows, scores.Cols
	count, parameters := floats.Sum(weights), float64(classes*classes-1)
	least := count*loss - parameters*math.Log(count)/2
	m := dense.New[float64](classes+1, classes)
	for j := range classes {
		m.Set(j, j, 1)
	}
	none := m.Clone()
	if !(least > 0) {
		return none, loss
	}
	x, weighted := dense.New[float64](n, classes+1), dense.New[float64](classes+1, n)
	for i := range n {
		floats.ScaleTo(x.Row(i)[:classes], beta, scores.Row(i))
		x.Set(i, classes, 1)
		for j, v := range x.Row(i) {
			weighted.Set(j, i, weights[i]*v)
		}
	}
	bound, step := dense.New[float64](classes+1, classes+1), dense.New[float64](classes+1, classes)
	matmul.Mul(0.5, weighted, x, 0, bound)
	for j := range bound.Rows {
		bound.Row(j)[j]++
	}
	factor, err := cholesky.New(context.Background(), bound)
	if err != nil {
		return none, loss
	}
	z, own := dense.New[float64](n, classes), 0.0
	for range mixtureSteps {
		matmul.Mul(1, x, m, 0, z)
		before := own
		own = 0
		for i, c := range labels {
			row := z.Row(i)
			own += weighted.At(classes, i) * (floats.LogSumExp(row) - row[c])
			platt.Softmax(row)
			floats.Scale(-1, row)
			row[c]++
		}
		if math.Abs(own-before) < 1e-6*count {
			break
		}
		floats.SubTo(step.Data, none.Data, m.Data)
		matmul.Mul(1, weighted, z, 1, step)
		factor.Solve(step)
		floats.Add(m.Data, step.Data)
	}
	if !(own < least) {
		return none, loss
	}
	return m, (own + parameters) / count
}
