package landmarks

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Uniform returns n different random rows of x (N×d) as an n×d matrix, every set of n rows with the
// same probability, in O(N·d) time [Williams & Seeger 2001]. Uniform returns an error for an
// element of x that is not finite, an n outside 1 … N for N rows, and a nil src.
func Uniform[T dense.Float](x dense.Matrix[T], n int, src rand.Source) (dense.Matrix[T], error) {
	if err := check(x, n, src); err != nil {
		return dense.Matrix[T]{}, err
	}
	return layout.Rows(x, rand.New(src).Perm(x.Rows)[:n]), nil
}

func check[T dense.Float](x dense.Matrix[T], n int, src rand.Source) error {
	if x.Rows < 1 || x.Cols < 1 {
		return fmt.Errorf("landmarks: x is %d×%d, want at least 1×1", x.Rows, x.Cols)
	}
	if n < 1 || n > x.Rows {
		return fmt.Errorf("landmarks: n = %d, want 1 to %d, the rows of x", n, x.Rows)
	}
	if src == nil {
		return errors.New("landmarks: src is nil")
	}
	return argument.Finite("landmarks: x", x)
}
