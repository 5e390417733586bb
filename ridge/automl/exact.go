package automl

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/ridge/internal/gramian"
	"github.com/seed-feabd252/randfeat/ridge/internal/platt"
)

const logisticSteps = 30

// logistic returns the weights and intercepts of kernel logistic regression with the penalty
// λ/2·½aᵀKa for indicators y. The bound ½ of the second derivatives of the loss makes each step a
// fit to f + 2(y − P) [Böhning 1992], from an extrapolated f [Nesterov 1983].
func logistic(s *gramian.System, y dense.Matrix[float64]) (a dense.Matrix[float64], b []float64) {
	f, before, z := dense.New[float64](y.Rows, y.Cols), dense.New[float64](y.Rows, y.Cols), dense.New[float64](y.Rows, y.Cols)
	p := make([]float64, y.Cols)
	for step := range logisticSteps {
		pace := float64(step) / float64(step+3)
		for i := range y.Rows {
			row := z.Row(i)
			for j, v := range f.Row(i) {
				row[j] = v + pace*(v-before.At(i, j))
			}
			copy(p, row)
			platt.Softmax(p)
			for j, v := range y.Row(i) {
				row[j] += 2 * (v - p[j])
			}
		}
		f, before = before, f
		a, b = s.Fit(z)
		moved := 0.0
		for i, r := range s.Ridge {
			for j, v := range a.Row(i) {
				v = z.At(i, j) - r*v
				f.Row(i)[j], moved = v, max(moved, math.Abs(v-before.At(i, j)))
			}
		}
		if moved < 1e-2 {
			break
		}
	}
	return a, b
}

// fit fits y, the targets of the goal.
func (g *goal) fit(s *gramian.System, y dense.Matrix[float64]) (a dense.Matrix[float64], b []float64) {
	if g.logistic {
		return logistic(s, y)
	}
	return s.Fit(y)
}

// descend lowers a loss by steps of a factor of 4 from 2^at on, and returns the best power of 2.
func descend(at int, loss func(power int) float64) int {
	least := loss(at)
	for _, step := range []int{2, -2} {
		from := at
		for next := at + step; next >= -24 && next <= 12; next += step {
			v := loss(next)
			if !(v < least) {
				break
			}
			least, at = v, next
		}
		if at != from {
			break
		}
	}
	return at
}

// likeliest returns the weights a of the fit to y with the λ of largest evidence, and the logarithm
// of the evidence, for targets with a shared λ and noise of their own.
func (s *mixtureSearch) likeliest(k kernels.Kernel, x, y dense.Matrix[float64], weights []float64) (a dense.Matrix[float64], score float64, err error) {
	var gram dense.Matrix[float64]
	if err := interrupt.Await(s.ctx, func() { gram = gramian.Gram(gram, k, x, dense.Matrix[float64]{}) }); err != nil {
		return a, 0, err
	}
	scale, n := max(gramian.Unit(gram, weights), 1e-300), float64(x.Rows)
	score = math.Inf(-1)
	var root dense.Matrix[float64]
	s.power = descend(s.power, func(power int) float64 {
		root = dense.Copy(root, gram)
		at, failed := gramian.NewSystem(s.ctx, root, weights, math.Ldexp(scale, power))
		if failed != nil {
			err = failed
			return math.Inf(1)
		}
		own, _ := at.Fit(y)
		det := math.Log(floats.Sum(at.Ones)) + at.Factor.LogDet
		sum := 0.0
		for j := range y.Cols {
			square := 0.0
			for i := range y.Rows {
				square += y.At(i, j) * own.At(i, j)
			}
			sum -= ((n-1)*math.Log(max(square, math.SmallestNonzeroFloat64)) + det) / 2
		}
		if sum > score {
			a, score = own, sum
		}
		return -sum
	})
	if a.Data == nil {
		return a, 0, err
	}
	return a, score, s.ctx.Err()
}

// outerProduct returns the sum of ∂f/∂z·(∂f/∂z)ᵀ over the rows z (n×d) and the outputs of a fit
// with a Gaussian k and the weights a,
//
//	∂f/∂z ∝ Σ_i a_i·k(z, z_i)·(z_i − z),  without the factor 1/ℓ².
//
// It takes n²·d multiply-adds for each output.
func (s *mixtureSearch) outerProduct(k kernels.Kernel, z, a dense.Matrix[float64]) (*mat.SymDense, error) {
	m, gram := mat.NewSymDense(z.Cols, nil), gramian.Gram(dense.Matrix[float64]{}, k, z, dense.Matrix[float64]{})
	weighted, slopes := dense.New[float64](z.Rows, z.Cols), mat.NewDense(z.Rows, z.Cols, nil)
	c := dense.Transpose(dense.Matrix[float64]{}, a)
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
