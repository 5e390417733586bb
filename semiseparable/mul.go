package semiseparable

import "github.com/seed-feabd252/randfeat/dense"

// Mul writes Y = T·X into dst and returns dst. X and Y are n×p. If dst is zero, Mul allocates it.
// Mul takes O(n·d·p) operations and, beyond dst, memory that does not depend on n.
//
// dst may be X exactly, and must not overlap X otherwise, nor Q, K or Diag. Column j of Y depends
// on column j of X alone, to the last bit, and not on GOMAXPROCS. After the first call of a size
// Mul allocates nothing but dst.
//
// The error is an *ElementError if an argument has NaN or ±Inf, and an *OverflowError if the
// product leaves the range of T. After an error the elements of dst are undefined.
func (m Matrix[T]) Mul(dst, x dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.run(dst, x, "x", operation{}, m.tuned())
}

// MulTransposed writes Y = Tᵀ·X into dst and returns dst. Everything else is as for Mul.
func (m Matrix[T]) MulTransposed(dst, x dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.run(dst, x, "x", operation{transposed: true}, m.tuned())
}
