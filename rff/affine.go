package rff

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Affine is an affine map
//
//	z = A·(x − c) + b,  R^d → R^r,
//
// that prepares points for a feature map: centring, scaling, whitening, projecting on
// principal components. Compose puts it before a map. It is a map itself, whose
// kernel is zᵀz′. It never changes after construction and may be shared by
// goroutines.
type Affine[T dense.Float] struct {
	name           string
	in, out        int
	center, offset []T              // nil for 0
	forward, back  matmul.Packed[T] // Aᵀ and A
	kernel         kernels.Pullback

	passes pool.Of[affinePass[T]]
	spaces pool.Of[[]T]
}

// NewAffine returns z = A·x + b for a (r×d) and b of length r; nil stands for 0. Both
// are copied.
//
// An error reports an a without elements, a b of another length, and an element
// that is not finite.
func NewAffine[T dense.Float](a dense.Matrix[T], b []T) (*Affine[T], error) {
	a.Check()
	var offset []float64
	if b != nil {
		offset = make([]float64, len(b))
		for i, v := range b {
			offset[i] = float64(v)
		}
	}
	return newAffine[T]("Affine()", dense.Convert(dense.Matrix[float64]{}, a), nil, offset)
}

// newAffine keeps its arguments.
func newAffine[T dense.Float](name string, a dense.Matrix[float64], center, offset []float64) (*Affine[T], error) {
	k := kernels.Pullback{K: kernels.DotProduct{}, A: a, Center: center, Offset: offset}
	if err := kernels.Check(k); err != nil {
		return nil, fmt.Errorf("rff: not an affine map: %w", err)
	}
	f := &Affine[T]{name: name, in: a.Cols, out: a.Rows, kernel: k}
	own := dense.Convert(dense.Matrix[T]{}, a)
	for i := range own.Rows {
		for j, v := range own.Row(i) {
			if math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("rff: A[%d][%d] = %v is outside the range of %T", i, j, a.At(i, j), v)
			}
		}
	}
	matmul.PackT(&f.forward, own)
	matmul.Pack(&f.back, own)
	if center != nil {
		// A center that T does not hold is moved there, and the image moved back.
		f.center = make([]T, f.in)
		rest := make([]float64, f.in)
		for j, c := range center {
			f.center[j] = T(c)
			rest[j] = float64(f.center[j]) - c
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

// Dims returns d and r.
func (f *Affine[T]) Dims() (in, out int) { return f.in, f.out }

// Transform writes A·(x − c) + b for every row of x (n×d) into dst (n×r) and returns
// it; a zero dst is allocated. dst must not overlap x. A row of dst depends on its
// row of x alone. The error of an element is a few u·(d + 2)·Σ_j |A_ij·(x_j − c_j)|,
// however far from 0 the center is. The cost is a matrix product, in blocks for which
// x − c is kept. It panics if a shape does not fit.
func (f *Affine[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(x, f.in)
	dst = dense.Ensure(dst, x.Rows, f.out)
	inBlocks(&f.passes, affinePass[T]{Affine: f, dst: dst, x: x}, x.Rows, affineRows)
	return dst
}

// Backward writes Aᵀ·dphi_i, the gradient with respect to x_i, into the rows of dst
// (n×d), for dphi (n×r), and returns it; a zero dst is allocated. dst must not overlap
// dphi. x (n×d) is not read. It panics if a shape does not fit.
func (f *Affine[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	checkGradient("dphi", x, dphi, f.in, f.out)
	dst = dense.Ensure(dst, x.Rows, f.in)
	matmul.MulPacked(1, dphi, &f.back, 0, dst, nil)
	return dst
}

// CanBackward returns nil.
func (f *Affine[T]) CanBackward() error { return nil }

// Kernel returns the inner product of z and z′, a kernels.Pullback whose elements must not
// be written.
func (f *Affine[T]) Kernel() kernels.Kernel { return f.kernel }

// String returns the constructor, and the dimensions.
func (f *Affine[T]) String() string { return describe(f.name, f.in, f.out) }

// affineRows is the number of rows that are moved to the center together.
const affineRows = 256

// affinePass is one Transform.
type affinePass[T dense.Float] struct {
	*Affine[T]
	dst, x dense.Matrix[T]
}

func (p *affinePass[T]) Piece(i int) {
	lo := i * affineRows
	hi := min(lo+affineRows, p.x.Rows)
	s := p.spaces.Get()
	p.apply(p.dst.RowRange(lo, hi), p.x.RowRange(lo, hi), s)
	p.spaces.Put(s)
}

// apply writes the image of x into z. scratch grows as needed.
func (f *Affine[T]) apply(z, x dense.Matrix[T], scratch *[]T) {
	if f.center != nil {
		moved := scratchMatrix(scratch, x.Rows, x.Cols)
		for i := range x.Rows {
			copy(moved.Row(i), x.Row(i))
			vecmath.AddScaled(moved.Row(i), f.center, -1)
		}
		x = moved
	}
	matmul.MulPacked(1, x, &f.forward, 0, z, nil)
	if f.offset != nil {
		for i := range z.Rows {
			vecmath.AddScaled(z.Row(i), f.offset, 1)
		}
	}
}
