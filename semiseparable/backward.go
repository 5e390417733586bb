package semiseparable

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// BackwardError returns the componentwise relative backward error of Y as the solution of T·Y = V
// [Oettli and Prager 1964],
//
//	ω = max |V − T·Y|_ij / (|V| + |Λ|·|Y| + tril(|Q||K|ᵀ, −1)·|Y|)_ij
//
// with 0/0 = 0. Y solves exactly a system in which each term q_il·k_jl of q_iᵀk_j, each λ_i and
// each element of V has a relative error of at most ω. For the Y of Solve, ω is a few units of
// rounding. An ω near 1 means that Y does not solve the system.
//
// BackwardError computes in float64 for both T, so ω is itself uncertain by some 2⁻⁵⁰. It takes
// O(n·d·p) operations, about four times as many as Solve, and O(n·(d+p)) memory. NaN or ±Inf in an
// argument, and sums beyond the range of float64, make ω NaN. BackwardError panics with the shapes
// unless V and Y are n×p.
func (m Matrix[T]) BackwardError(y, v dense.Matrix[T]) float64 { return m.backward(y, v, false) }

// BackwardErrorTransposed is BackwardError for Tᵀ·Y = V.
func (m Matrix[T]) BackwardErrorTransposed(y, v dense.Matrix[T]) float64 {
	return m.backward(y, v, true)
}

func (m Matrix[T]) backward(y, v dense.Matrix[T], transposed bool) float64 {
	n, d := m.Dims()
	checkOperand("v", v, n, d)
	checkOperand("y", y, n, d)
	if y.Cols != v.Cols {
		panic(fmt.Sprintf("semiseparable: y is %d×%d, v is %d×%d, want the same shape", y.Rows, y.Cols, v.Rows, v.Cols))
	}
	w := Matrix[float64]{Q: dense.Copy(dense.Matrix[float64]{}, m.Q), K: dense.Copy(dense.Matrix[float64]{}, m.K)}
	if m.Diag != nil {
		w.Diag = dense.Copy(dense.Matrix[float64]{}, dense.Of(n, 1, m.Diag)).Data
	}
	solution := dense.Copy(dense.Matrix[float64]{}, y)
	op := operation{transposed: transposed}
	product, err := w.run(dense.Matrix[float64]{}, solution, "y", op, m.tuned())
	if err != nil {
		return math.NaN()
	}
	for _, x := range [][]float64{w.Diag, w.Q.Data, w.K.Data, solution.Data} {
		for i, a := range x {
			x[i] = math.Abs(a)
		}
	}
	size, err := w.run(solution, solution, "y", op, m.tuned())
	if err != nil {
		return math.NaN()
	}
	worst := 0.0
	for i := range n {
		a, b := product.Row(i), size.Row(i)
		for j, c := range dense.Copy(dense.Matrix[float64]{}, v.RowRange(i, i+1)).Data {
			if c != a[j] {
				worst = max(worst, math.Abs(c-a[j])/(math.Abs(c)+b[j])) // max keeps NaN
			}
		}
	}
	return worst
}
