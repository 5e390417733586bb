package audit

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// Output is a matrix of known outputs in the place of an attention, such as outputs of other
// software whose error [Measure] measures: Forward returns the matrix, whatever the arguments are.
type Output[T dense.Float] dense.Matrix[T]

// Forward returns the outputs o without a copy if dst is the zero Matrix, and otherwise copies o to
// dst and returns dst. Forward panics unless o and q have equally many rows.
func (o Output[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	if o.Rows != q.Rows {
		panic(fmt.Sprintf("audit: the Output is %d×%d, q is %d×%d, want as many rows", o.Rows, o.Cols, q.Rows, q.Cols))
	}
	if dst.Rows == 0 && dst.Data == nil {
		return dense.Matrix[T](o)
	}
	return dense.Copy(dst, dense.Matrix[T](o))
}
