package semiseparable

import "github.com/seed-feabd252/randfeat/dense"

// Solve writes Y = T⁻¹·V into dst and returns it; V and Y are n×p, and a zero dst is allocated.
// Solve takes O(n·d·p) operations and, beyond dst, memory that does not depend on n.
//
// dst may be V exactly; dst must not overlap V otherwise, nor Q, K or Diag. Column j of Y depends
// on column j of V alone, to the last bit, and not on GOMAXPROCS. Solve allocates nothing once
// working memory is there.
//
// The error is an *ElementError if Diag holds an element that cannot be divided by, or if any
// argument holds NaN or ±Inf, and an *OverflowError if the solution leaves the range of T. dst then
// holds nothing of use. A solution without an error is finite; BackwardError tells how well it
// solves the system.
func (m Matrix[T]) Solve(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.run(dst, v, "v", operation{solving: true}, m.tuned())
}

// SolveTransposed writes Y = T⁻ᵀ·V into dst and returns it, the solution of the upper-triangular
// system Tᵀ·Y = V; everything else is as for Solve.
func (m Matrix[T]) SolveTransposed(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.run(dst, v, "v", operation{solving: true, transposed: true}, m.tuned())
}
