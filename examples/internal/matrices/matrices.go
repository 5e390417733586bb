// Package matrices reads NumPy files of matrices of one shape, and compares matrices.
package matrices

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/npy"
)

// Read returns the array of a file, rows×columns or heads×rows×columns, as the heads of one
// sequence, and the shape of the array. Read returns an error that names the file for an array of
// another rank, without elements, or with NaN or infinity, and in the cases of npy.ReadFile.
func Read(path string) (x dense.Tensor[float32], shape []int, err error) {
	data, shape, err := npy.ReadFile[float32](path)
	if err != nil {
		return x, nil, err
	}
	for i, v := range data {
		if v-v != 0 {
			return x, nil, fmt.Errorf("%s: element %v is %v, want finite numbers", path, index(shape, i), v)
		}
	}
	switch n := len(shape); {
	case n != 2 && n != 3:
		return x, nil, fmt.Errorf("%s: shape %v has rank %d, want 2 (L×d) or 3 (heads×L×d)", path, shape, n)
	case len(data) == 0:
		return x, nil, fmt.Errorf("%s: shape %v has no element", path, shape)
	}
	heads := len(data) / (shape[len(shape)-2] * shape[len(shape)-1])
	return dense.TensorOf(1, heads, shape[len(shape)-2], shape[len(shape)-1], data), shape, nil
}

func index(shape []int, i int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}

// Distance returns ‖a − b‖/‖b‖, in Frobenius norms over all heads.
func Distance(a, b []dense.Matrix[float32]) float64 {
	var diff, size float64
	for h := range a {
		for i := range a[h].Rows {
			y := b[h].Row(i)
			for j, x := range a[h].Row(i) {
				e := float64(x) - float64(y[j])
				diff += e * e
				size += float64(y[j]) * float64(y[j])
			}
		}
	}
	return math.Sqrt(diff / size)
}
