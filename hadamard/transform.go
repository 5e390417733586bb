package hadamard

import (
	"fmt"
	"math/bits"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
)

// Transform replaces x by H·x, where H is the n×n Hadamard matrix in Sylvester
// (natural) order, H[i][j] = (−1)^popcount(i AND j), and n = len(x). It is
// unnormalised: applied twice it multiplies by n. Cost: n·log₂ n additions and
// subtractions, no multiplication, no allocation.
//
// The stages run in ascending order, h = 1, 2, 4, … n/2, each replacing x[j]
// and x[j+h] by their sum and difference. That fixes every rounding, so all
// implementations agree to the last bit on every machine. If an element is NaN
// or ±Inf, no element of the result is finite.
//
// It panics unless len(x) is a power of two; an empty x is not. Calls on
// disjoint slices may run at the same time.
//
// Source: [Fino and Algazi 1976].
func Transform[T dense.Float](x []T) {
	checkOrder("length", len(x))
	transform(x)
}

// TransformRows applies Transform to every row of x, in place, rows in
// parallel. Cost: Rows·Cols·log₂ Cols additions and subtractions. It panics
// unless x.Cols is a power of two.
func TransformRows[T dense.Float](x dense.Matrix[T]) {
	x.Check()
	checkOrder("row length", x.Cols)
	parallel.Rows(x.Rows, grain(x.Cols), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			transform(x.Row(i))
		}
	})
}

// transform is where an implementation is chosen; len(x) is a power of two.
func transform[T dense.Float](x []T) {
	transformGeneric(x)
}

// grain returns how many rows of n elements are worth handing to a goroutine.
func grain(n int) int {
	const elements = 1 << 16
	return max(1, elements/n)
}

// checkOrder panics unless n is a power of two; what names it in the message.
func checkOrder(what string, n int) {
	if n < 1 || bits.OnesCount(uint(n)) != 1 {
		panic(fmt.Sprintf("hadamard: %s %d is not a power of two", what, n))
	}
}
