// Package planerot applies long lists of plane rotations to vectors and to the rows of matrices,
// for float32 and float64. A group of rows is transposed into a block, in which the elements of one
// coordinate are adjacent, rotated there, and transposed back. A transposition takes O(d)
// operations a row, and N rotations take O(N).
//
// Every product and every sum is rounded, in every tier, and no operation mixes rows: the result is
// a function of the row alone, with the same bits on every processor.
package planerot

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

type Float = dense.Float

// Turn is the rotation y_I = Cos·x_I − Sin·x_J, y_J = Sin·x_I + Cos·x_J of the coordinates I ≠ J.
// Kernels read a Turn as it lies in memory.
type Turn[T Float] struct {
	I, J     int32
	Cos, Sin T
}

// Pair returns c·u − s·v and s·u + c·v. The conversions keep compilers from fusing a product and a
// sum: the last bit would depend on the architecture and on the surrounding code.
func Pair[T Float](c, s, u, v T) (T, T) {
	return T(c*u) - T(s*v), T(s*u) + T(c*v)
}

// Apply applies the turns to x, the first one first. Their axes must be coordinates of x.
func Apply[T Float](x []T, turns []Turn[T]) {
	for _, g := range turns {
		x[g.I], x[g.J] = Pair(g.Cos, g.Sin, x[g.I], x[g.J])
	}
}

// ApplyInverse undoes Apply up to rounding.
func ApplyInverse[T Float](x []T, turns []Turn[T]) {
	for k := len(turns) - 1; k >= 0; k-- {
		// Exchanging the axes is the inverse, with the same roundings.
		g := turns[k]
		x[g.J], x[g.I] = Pair(g.Cos, g.Sin, x[g.J], x[g.I])
	}
}

// ApplyRows applies Apply, or ApplyInverse if inverse is true, to the rows of x and writes the
// results to the rows of dst, which has the shape of x. dst may be x, but must not overlap x
// otherwise. The axes of the turns must be less than x.Cols, because kernels do not check them.
// Elements between the rows stay. ApplyRows panics if dst.Check or x.Check panics, and for shapes
// that differ, because kernels do not check them. It allocates scratch memory, which later calls use
// again.
func ApplyRows[T Float](dst, x dense.Matrix[T], turns []Turn[T], inverse bool) {
	dst.Check()
	x.Check()
	if dst.Rows != x.Rows || dst.Cols != x.Cols {
		panic(fmt.Sprintf("planerot: dst is %d×%d, want %d×%d, the shape of x", dst.Rows, dst.Cols, x.Rows, x.Cols))
	}
	k := best[T]()
	if k == nil || len(turns) <= x.Cols/transposing {
		reference(dst, x, turns, inverse)
		return
	}
	k.rows(dst, x, turns, inverse)
}

// transposing elements are transposed and back in the time of one rotation in pure Go.
const transposing = 8

func reference[T Float](dst, x dense.Matrix[T], turns []Turn[T], inverse bool) {
	// A function value is not inlined: the inlined loop would run out of registers.
	apply := Apply[T]
	if inverse {
		apply = ApplyInverse[T]
	}
	for i := range x.Rows {
		row := dst.Row(i)
		copy(row, x.Row(i))
		apply(row, turns)
	}
}

// Group returns the number of rows of d elements that ApplyRows rotates together, of which callers
// should divide work into multiples. Results do not depend on the number.
func Group[T Float](d int) int {
	if k := best[T](); k != nil {
		return k.lanes * k.vectors(d)
	}
	return 1
}
