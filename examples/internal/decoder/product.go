package decoder

import (
	"sync"

	"gonum.org/v1/gonum/blas"

	fast "github.com/seed-feabd252/randfeat/blas"
	"github.com/seed-feabd252/randfeat/dense"
)

// product returns x·wᵀ.
func product(x, w dense.Matrix[float32]) dense.Matrix[float32] {
	y := dense.New[float32](x.Rows, w.Rows)
	addProduct(y, x, w)
	return y
}

// addProduct computes y += x·wᵀ.
func addProduct(y, x, w dense.Matrix[float32]) {
	fast.Implementation{}.Sgemm(blas.NoTrans, blas.Trans, y.Rows, y.Cols, x.Cols, 1, x.Data, x.Stride, w.Data, w.Stride, 1, y.Data, y.Stride)
}

// eachRow calls f for the rows 0 ≤ i < n, with a goroutine for each 64 rows.
func eachRow(n int, f func(i int)) {
	const rows = 64
	var all sync.WaitGroup
	for lo := 0; lo < n; lo += rows {
		all.Go(func() {
			for i := lo; i < min(lo+rows, n); i++ {
				f(i)
			}
		})
	}
	all.Wait()
}
