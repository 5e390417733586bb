// Package planerot applies long lists of plane rotations to vectors and to the rows
// of matrices, for float32 and float64.
//
// Rotations of one vector are short scalar operations with unpredictable addresses. Rotations of
// many rows use the vectors of the processor: a group of rows is transposed into a block where the
// elements of one coordinate are adjacent, rotated there, and transposed back. Transposing takes
// O(d) operations a row, and rotating O(N) for N rotations.
//
// Rotations of different axes commute, and Arrange puts a list in an order in which
// they seldom wait for each other.
//
// Every product and every sum is rounded on its own, in every tier, and no
// operation mixes rows: the result is a function of the row alone, the same bits
// on every processor.
package planerot

import "fmt"

// Float is the set of element types.
type Float interface{ float32 | float64 }

// Turn is the rotation
//
//	y_I = Cos·x_I − Sin·x_J
//	y_J = Sin·x_I + Cos·x_J
//
// of the coordinates I ≠ J. Kernels read a Turn as it lies in memory.
type Turn[T Float] struct {
	I, J     int32
	Cos, Sin T
}

// Pair returns c·u − s·v and s·u + c·v. The conversions keep a compiler from
// fusing a product into the sum, which would make the last bit depend on the
// architecture and on the code around it.
func Pair[T Float](c, s, u, v T) (T, T) {
	return T(c*u) - T(s*v), T(s*u) + T(c*v)
}

// Apply applies the turns to x, the first one first. Their axes must be
// coordinates of x.
func Apply[T Float](x []T, turns []Turn[T]) {
	for _, g := range turns {
		x[g.I], x[g.J] = Pair(g.Cos, g.Sin, x[g.I], x[g.J])
	}
}

// ApplyInverse applies the inverses of the turns to x, the last one first: it
// undoes Apply up to rounding.
func ApplyInverse[T Float](x []T, turns []Turn[T]) {
	for k := len(turns) - 1; k >= 0; k-- {
		// Exchanging the axes is the inverse, with the same roundings.
		g := turns[k]
		x[g.J], x[g.I] = Pair(g.Cos, g.Sin, x[g.J], x[g.I])
	}
}

// Rows is n rows of a row-major matrix: row i starts at Data[i*Stride].
type Rows[T Float] struct {
	Data   []T
	Stride int
}

// row returns the d elements of row i.
func (r Rows[T]) row(i, d int) []T { return r.Data[i*r.Stride:][:d] }

// from returns the rows from row i on.
func (r Rows[T]) from(i int) Rows[T] { return Rows[T]{r.Data[i*r.Stride:], r.Stride} }

func (r Rows[T]) check(n, d int) {
	if len(r.Data) < (n-1)*r.Stride+d {
		panic(fmt.Sprintf("planerot: %d elements cannot hold %d rows of %d with stride %d", len(r.Data), n, d, r.Stride))
	}
}

// ApplyRows writes each of n rows of d elements of x, rotated as by Apply or ApplyInverse, into
// dst. dst may be x; they must not overlap otherwise. The axes of the turns must be less than d:
// kernels do not check them. Elements between the rows stay. ApplyRows panics if a slice is too
// short, and allocates nothing once scratch memory is there.
func ApplyRows[T Float](dst, x Rows[T], n, d int, turns []Turn[T], inverse bool) {
	if n == 0 {
		return
	}
	dst.check(n, d)
	x.check(n, d)
	k := best[T]()
	if k == nil || len(turns) <= d/transposing {
		reference(dst, x, n, d, turns, inverse)
		return
	}
	k.rows(dst, x, n, d, turns, inverse)
}

// transposing is the number of elements of a row that are transposed, there and
// back, in the time of one rotation of the row in pure Go.
const transposing = 8

// reference is ApplyRows in pure Go.
func reference[T Float](dst, x Rows[T], n, d int, turns []Turn[T], inverse bool) {
	// A call, as a loop compiled into this one runs out of registers.
	apply := Apply[T]
	if inverse {
		apply = ApplyInverse[T]
	}
	for i := range n {
		row := dst.row(i, d)
		copy(row, x.row(i, d))
		apply(row, turns)
	}
}

// Group returns the number of rows of d elements that are rotated together. Work is best cut into
// multiples of this number. The number depends on the processor; results do not.
func Group[T Float](d int) int {
	if k := best[T](); k != nil {
		return k.lanes * k.vectors(d)
	}
	return 1
}
