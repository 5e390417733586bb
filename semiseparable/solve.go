package semiseparable

import "github.com/seed-feabd252/randfeat/dense"

// Solve writes the solution Y of T·Y = v, for the Matrix T and the matrix v, into dst and returns
// dst. Solve allocates a zero-value dst. The argument dst may be exactly v, but must not overlap v
// in part, nor Q, K or Diag. For n×d matrices Q and K and an n×p matrix v, Solve takes O(n·d·p)
// operations and, beyond dst, memory that does not depend on n. Column j of the solution depends on
// no column of v but j, to the last bit.
//
// The error of Solve is an *ElementError if an element of Diag cannot be a divisor, or if Q, K or v
// has NaN or ±Inf. The error of Solve is an *OverflowError if the solution leaves the range of the
// element type. After an error of Solve the elements of dst are undefined. If Solve returns no
// error, the solution is finite.
func (m Matrix[T]) Solve(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.solve(dst, v, false, m.tuned())
}

// SolveTransposed writes the solution Y of Tᵀ·Y = v, for the Matrix T and the matrix v, into dst
// and returns dst. Shapes, cost and error values of SolveTransposed are those of Solve.
func (m Matrix[T]) SolveTransposed(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.solve(dst, v, true, m.tuned())
}
