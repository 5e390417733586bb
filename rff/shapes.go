package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// checkPoints panics unless the rows of x are points of R^in.
func checkPoints[T dense.Float](x dense.Matrix[T], in int) {
	x.Check()
	if x.Cols != in {
		panic(fmt.Sprintf("rff: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, in))
	}
}

// checkGradient panics unless x has points of R^in, and g gradients with respect to their features
// in R^out. The panic calls g name.
func checkGradient[T dense.Float](name string, x, g dense.Matrix[T], in, out int) {
	checkPoints(x, in)
	g.Check()
	if g.Rows != x.Rows || g.Cols != out {
		panic(fmt.Sprintf("rff: %s is %d×%d, want %d×%d", name, g.Rows, g.Cols, x.Rows, out))
	}
}

// scratchMatrix returns an r×c matrix in the memory of s, which it replaces if that is too small.
func scratchMatrix[T dense.Float](s *[]T, r, c int) dense.Matrix[T] {
	if len(*s) < r*c {
		*s = make([]T, r*c)
	}
	return dense.Of(r, c, (*s)[:r*c])
}
