package semiseparable

import "github.com/seed-feabd252/randfeat/dense"

// Solve writes Y = T⁻¹·V into dst and returns dst. V and Y are n×p. If dst is zero, Solve allocates
// it. Solve takes O(n·d·p) operations and, beyond dst, memory that does not depend on n.
//
// dst may be V exactly, and must not overlap V otherwise, nor Q, K or Diag. Column j of Y depends
// on column j of V alone, to the last bit, and not on GOMAXPROCS. After the first call of a size
// Solve allocates nothing but dst.
//
// The error is an *ElementError if an element of Diag is no divisor, or if an argument has NaN or
// ±Inf. It is an *OverflowError if the solution leaves the range of T. After an error the elements
// of dst are undefined. A solution without an error is finite.
func (m Matrix[T]) Solve(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.solve(dst, v, false, m.tuned())
}

// SolveTransposed writes Y = T⁻ᵀ·V, the solution of the upper-triangular system Tᵀ·Y = V, into dst
// and returns dst. Everything else is as for Solve.
func (m Matrix[T]) SolveTransposed(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.solve(dst, v, true, m.tuned())
}
