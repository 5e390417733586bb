package audit

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// Output is a form whose outputs are known: Forward returns the matrix. [Measure] measures the error
// of outputs that are at hand, or come from elsewhere, by an Output.
type Output[T dense.Float] dense.Matrix[T]

// Forward returns o, or dst with the numbers of o if dst is not zero. Forward panics if o does not
// have a row for each query.
func (o Output[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	if o.Rows != q.Rows {
		panic(fmt.Sprintf("audit: the Output is %d×%d, q is %d×%d, want as many rows", o.Rows, o.Cols, q.Rows, q.Cols))
	}
	if dst.Rows == 0 && dst.Data == nil {
		return dense.Matrix[T](o)
	}
	return dense.Copy(dst, dense.Matrix[T](o))
}
