// Package matrices reads and writes NumPy files of matrices, or of a stack of matrices of one
// shape: rows×columns or heads×rows×columns.
package matrices

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/npy"
)

// Tensor is a stack of matrices of the same shape.
type Tensor[T dense.Float] struct {
	Shape []int // rows×columns or heads×rows×columns
	Data  []T   // in C order
}

// Heads returns the number of matrices: 1 for a tensor of rank 2.
func (t Tensor[T]) Heads() int {
	if len(t.Shape) == 2 {
		return 1
	}
	return t.Shape[0]
}

// Head returns matrix h, a view.
func (t Tensor[T]) Head(h int) dense.Matrix[T] {
	r, c := t.Shape[len(t.Shape)-2], t.Shape[len(t.Shape)-1]
	return dense.Of(r, c, t.Data[h*r*c:(h+1)*r*c])
}

func checkShape(path string, shape []int) error {
	if n := len(shape); n != 2 && n != 3 {
		return fmt.Errorf("%s: shape %v has rank %d, want 2 (L×d) or 3 (heads×L×d)", path, shape, n)
	}
	if slices.Contains(shape, 0) {
		return fmt.Errorf("%s: shape %v has no element", path, shape)
	}
	return nil
}

// Read returns the tensor of a file, converted to T. It is an error, which names the file, if
// npy.Open reports one, if the array has no element, if its rank is neither 2 nor 3, or if an
// element is NaN or infinite.
func Read[T dense.Float](path string) (Tensor[T], error) {
	data, shape, err := npy.ReadFile[T](path)
	if err != nil {
		return Tensor[T]{}, err
	}
	for i, v := range data {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return Tensor[T]{}, fmt.Errorf("%s: element %v is %v, want finite numbers", path, index(shape, i), f)
		}
	}
	return Tensor[T]{Shape: shape, Data: data}, checkShape(path, shape)
}

// Write writes a tensor to a file, which it creates or replaces.
func Write[T dense.Float](path string, t Tensor[T]) error {
	return npy.WriteFile(path, t.Data, t.Shape...)
}

// index returns the indices of element i, in C order.
func index(shape []int, i int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}
