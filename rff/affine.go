package rff

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Affine returns the affine map
//
//	z = A·x + b,  R^d → R^r,
//
// for a (r×d) and b of length r; a nil b stands for 0. Both are copied. Compose puts an affine map
// before another map to prepare points, for example to centre, scale, whiten or project them on
// principal components (PCA). The kernel of the map is zᵀz′, a kernels.Pullback whose elements must
// not be written.
//
// The error of an element is a few u·(d + 2)·Σ_j |A_ij·x_j|. For PCA x − μ replaces x, at any
// distance of the mean μ from 0. The cost is a matrix product. The gradient Aᵀ·dφ does not read x.
//
// An error reports an a without elements, a b whose length is not r, and an element that is not
// finite.
func Affine[T dense.Float](a dense.Matrix[T], b []T) (Map[T], error) {
	a.Check()
	var offset []float64
	if b != nil {
		offset = make([]float64, len(b))
		for i, v := range b {
			offset[i] = float64(v)
		}
	}
	return build[Map[T]](affineRecipe[T]{dense.Copy(dense.Matrix[float64]{}, a), offset})
}

// affineRecipe is what Affine is made of.
type affineRecipe[T dense.Float] struct {
	A      dense.Matrix[float64]
	Offset []float64 // nil for 0
}

func newAffine[T dense.Float](r affineRecipe[T]) (Map[T], error) {
	return affineMap[T]("Affine()", r.A, nil, r.Offset, r)
}

// affine is z = A·(x − c) + b.
type affine[T dense.Float] struct {
	blockwise[T, []T]
	centre, offset []T              // nil for 0
	packed, back   matmul.Packed[T] // Aᵀ and A
}

// affineMap keeps its arguments.
func affineMap[T dense.Float](name string, a dense.Matrix[float64], centre, offset []float64, recipe any) (Map[T], error) {
	k := kernels.Pullback{K: kernels.DotProduct{}, A: a, Centre: centre, Offset: offset}
	if err := kernels.Check(k); err != nil {
		return nil, fmt.Errorf("rff: not an affine map: %w", err)
	}
	f := &affine[T]{blockwise: blockwise[T, []T]{
		frame: frame{name: name, in: a.Cols, out: a.Rows, kernel: k, recipe: recipe},
		rows:  affineRows,
	}}
	f.transform = func(s *[]T, z, x, _ dense.Matrix[T]) { f.apply(z, x, s) }
	own := dense.Copy(dense.Matrix[T]{}, a)
	for i := range own.Rows {
		for j, v := range own.Row(i) {
			if math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("rff: A[%d][%d] = %v is outside the range of %T", i, j, a.At(i, j), v)
			}
		}
	}
	matmul.PackT(&f.packed, own)
	matmul.Pack(&f.back, own)
	if centre != nil {
		// The centre is rounded to T, and the offset makes up for the rounding.
		f.centre = make([]T, f.in)
		rest := make([]float64, f.in)
		for j, c := range centre {
			f.centre[j] = T(c)
			rest[j] = float64(f.centre[j]) - c
		}
		if slices.ContainsFunc(rest, func(v float64) bool { return v != 0 }) {
			moved := make([]float64, f.out)
			copy(moved, offset)
			for i := range moved {
				moved[i] += vecmath.Dot(a.Row(i), rest)
			}
			offset = moved
		}
	}
	if offset != nil {
		f.offset = make([]T, f.out)
		for i, v := range offset {
			f.offset[i] = T(v)
		}
	}
	return f, nil
}

func (f *affine[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	checkGradient("dphi", x, dphi, f.in, f.out)
	dst = dense.Ensure(dst, x.Rows, f.in)
	matmul.MulPacked(1, dphi, &f.back, 0, dst, nil)
	return dst
}

func (f *affine[T]) CanBackward() error { return nil }

// affineRows is the number of rows in a block.
const affineRows = 256

// apply writes z of every row of x. scratch grows as needed.
func (f *affine[T]) apply(z, x dense.Matrix[T], scratch *[]T) {
	if f.centre != nil {
		moved := scratchMatrix(scratch, x.Rows, x.Cols)
		for i := range x.Rows {
			copy(moved.Row(i), x.Row(i))
			vecmath.AddScaled(moved.Row(i), f.centre, -1)
		}
		x = moved
	}
	matmul.MulPacked(1, x, &f.packed, 0, z, nil)
	if f.offset != nil {
		for i := range z.Rows {
			vecmath.AddScaled(z.Row(i), f.offset, 1)
		}
	}
}
