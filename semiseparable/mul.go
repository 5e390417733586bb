package semiseparable

import "github.com/seed-feabd252/randfeat/dense"

// Mul writes Y = T·X into dst and returns it; X and Y are n×p, and a zero dst is allocated. Mul
// takes O(n·d·p) operations and, beyond dst, memory that does not depend on n.
//
// dst may be X exactly; dst must not overlap X otherwise, nor Q, K or Diag. Column j of Y depends
// on column j of X alone, to the last bit, and not on GOMAXPROCS. Mul allocates nothing once
// working memory is there.
//
// The error is an *ElementError if any argument holds NaN or ±Inf, and an *OverflowError if the
// product leaves the range of T. dst then holds nothing of use.
func (m Matrix[T]) Mul(dst, x dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.run(dst, x, "x", operation{}, m.tuned())
}

// MulTransposed writes Y = Tᵀ·X into dst and returns it; everything else is as for Mul.
func (m Matrix[T]) MulTransposed(dst, x dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.run(dst, x, "x", operation{transposed: true}, m.tuned())
}

// MulVec writes T·x into dst and returns it, as Mul does for one column; a nil dst is allocated. It
// panics unless x and dst have n elements.
func (m Matrix[T]) MulVec(dst, x []T) ([]T, error) {
	y, err := m.Mul(vector(dst), vector(x))
	return y.Data, err
}

// MulVecTransposed writes Tᵀ·x into dst and returns it; everything else is as for MulVec.
func (m Matrix[T]) MulVecTransposed(dst, x []T) ([]T, error) {
	y, err := m.MulTransposed(vector(dst), vector(x))
	return y.Data, err
}

// vector returns x as a column, the zero Matrix for nil.
func vector[T dense.Float](x []T) dense.Matrix[T] {
	if x == nil {
		return dense.Matrix[T]{}
	}
	return dense.Of(len(x), 1, x)
}
