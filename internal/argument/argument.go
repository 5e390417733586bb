// Package argument checks arguments for several packages. The name of an argument begins with the
// name of the calling package: "kmeans: x".
package argument

import (
	"context"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// Finite returns an error that names the first element of x that is not finite. It panics if
// x.Check does.
func Finite[T dense.Float](name string, x dense.Matrix[T]) error {
	x.Check()
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if v-v != 0 {
				return fmt.Errorf("%s[%d][%d] = %v, want a finite number", name, i, j, v)
			}
		}
	}
	return nil
}

// FiniteAll is Finite for a slice.
func FiniteAll[T dense.Float](name string, x []T) error {
	for i, v := range x {
		if v-v != 0 {
			return fmt.Errorf("%s[%d] = %v, want a finite number", name, i, v)
		}
	}
	return nil
}

// Context returns the error of ctx. It panics if ctx is nil, with pkg as the name of the package.
func Context(pkg string, ctx context.Context) error {
	if ctx == nil {
		panic(pkg + ": ctx is nil")
	}
	return ctx.Err()
}
