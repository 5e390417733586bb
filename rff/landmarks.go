package rff

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
)

// UniformLandmarks returns n different rows of x (N×d), every set of n equally likely, as an n×d
// matrix of landmarks for Nystroem, in O(N + n·d) [Williams & Seeger 2001].
//
// An error reports an element of x that is not finite, an n outside 1 … N, and a nil src.
func UniformLandmarks[T dense.Float](x dense.Matrix[T], n int, src rand.Source) (dense.Matrix[T], error) {
	if err := landmarkArguments(x, n, src); err != nil {
		return dense.Matrix[T]{}, err
	}
	return rowsAt(x, rand.New(src).Perm(x.Rows)[:n]), nil
}

// landmarkArguments checks the common arguments of all ways to choose landmarks.
func landmarkArguments[T dense.Float](x dense.Matrix[T], n int, src rand.Source) error {
	if x.Rows < 1 || x.Cols < 1 {
		return fmt.Errorf("rff: x is %d×%d, want at least 1×1", x.Rows, x.Cols)
	}
	if n < 1 || n > x.Rows {
		return fmt.Errorf("rff: n = %d, want 1 to %d, the rows of x", n, x.Rows)
	}
	if err := given(src); err != nil {
		return err
	}
	return finite("x", x)
}

// rowsAt returns a copy of the rows of x with the given numbers.
func rowsAt[T dense.Float](x dense.Matrix[T], at []int) dense.Matrix[T] {
	rows := dense.New[T](len(at), x.Cols)
	for i, from := range at {
		copy(rows.Row(i), x.Row(from))
	}
	return rows
}
