package semiseparable

import "github.com/seed-feabd252/randfeat/dense"

// Solve writes the n×p solution Y of the system T·Y = V into dst and returns dst. If dst is zero,
// Solve allocates it. Solve takes O(n·d·p) operations and, beyond dst, memory that does not depend
// on n.
//
// dst may be exactly V, but must not overlap V in another way, nor Q, K or Diag. Column j of Y
// depends on no column of V but j, to the last bit, and not on GOMAXPROCS. After the first call of
// a size Solve allocates nothing but dst.
//
// The error of Solve is an *ElementError if an element of Diag cannot be a divisor, or if an
// argument has NaN or ±Inf. The error of Solve is an *OverflowError if the solution leaves the
// range of the element type. After an error of Solve the elements of dst are undefined. If Solve
// returns no error, the solution is finite.
func (m Matrix[T]) Solve(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.solve(dst, v, false, m.tuned())
}

// SolveTransposed writes Y = T⁻ᵀ·V, the solution of the upper-triangular system Tᵀ·Y = V, into dst
// and returns dst. Shapes, costs and errors of SolveTransposed are those of Solve.
func (m Matrix[T]) SolveTransposed(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.solve(dst, v, true, m.tuned())
}
