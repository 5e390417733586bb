package kernelridge

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/kernels"
)

// profile is a kernel that is a function of ‖x − y‖.
type profile struct {
	lengthScale float64
	nu          float64 // ν of a Matérn kernel, or 0 for a Gaussian kernel
}

// profileOf returns the profile of a kernel, and false for kernels without vector functions.
func profileOf(k kernels.Kernel) (p profile, ok bool) {
	switch k := k.(type) {
	case kernels.Gaussian:
		p = profile{k.LengthScale, 0}
	case kernels.Matern:
		if p = (profile{k.LengthScale, k.Nu}); k.Nu == 0 {
			p.nu = 1.5
		}
	default:
		return p, false
	}
	if p.lengthScale == 0 {
		p.lengthScale = 1
	}
	return p, true
}

// apply replaces e[j] = −‖x − y_j‖²/2, in units of the length-scale, by the values of the kernel.
func apply[T dense.Float](p profile, e, poly []T) {
	if p.nu == 0 {
		vecmath.Exp(e, e)
		return
	}
	roots(e, poly, p.nu)
	vecmath.Exp(e, e)
	if p.nu == 0.5 {
		return
	}
	if p.nu == 1.5 {
		vecmath.Affine(poly, poly, 1, 1)
	} else { // 1 + r + r²/3 = (r/√3 + √3/2)² + ¼
		vecmath.Affine(poly, poly, T(1/math.Sqrt(3)), T(math.Sqrt(3)/2))
		vecmath.Multiply(poly, poly)
		vecmath.Affine(poly, poly, 1, 0.25)
	}
	vecmath.Multiply(e, poly)
}

// roots sets poly[j] to r = √(−4ν·e[j]), and e[j] to −r. It takes roots as exponentials of
// logarithms, which have vector functions: r² + 4⁻ᵇ in place of r² keeps the logarithm finite, and
// changes a kernel by less than its rounding.
func roots[T dense.Float](e, poly []T, nu float64) {
	bits := 24
	if vecmath.Roundoff[T]() < 0x1p-30 {
		bits = 53
	}
	vecmath.Affine(poly, e, T(math.Ldexp(-4*nu, 2*bits)), 0)
	vecmath.LogELU(poly, poly) // log(1 + 4ᵇ·r²)
	vecmath.Affine(poly, poly, 0.5, -T(bits)*math.Ln2)
	vecmath.Exp(poly, poly)
	vecmath.Affine(e, poly, -1, 0)
}

// points are rows between which tiles have the values of a kernel.
type points[T dense.Float] struct {
	x     dense.Matrix[T]
	moved dense.Matrix[T] // (x − origin)/ℓ, for a profile
	half  []T             // −‖moved‖²/2
	far   []bool          // rows whose moved has too few digits for differences
}

// farSquare returns ‖moved‖² above which rounding of xᵀy is felt: a kernel has an error of about
// (d + 2)·u·‖moved‖².
func farSquare[T dense.Float]() float64 {
	if vecmath.Roundoff[T]() > 0x1p-30 {
		return 0x1p10
	}
	return 0x1p20
}

// newPoints returns points in the precision of T.
func newPoints[T dense.Float](k kernels.Kernel, x dense.Matrix[float64], origin []float64) *points[T] {
	p := &points[T]{x: dense.Copy(dense.Matrix[T]{}, x)}
	of, ok := profileOf(k)
	if !ok {
		return p
	}
	p.moved, p.half, p.far = dense.New[T](x.Rows, x.Cols), make([]T, x.Rows), make([]bool, x.Rows)
	for i := range x.Rows {
		to, square := p.moved.Row(i), 0.0
		for j, v := range x.Row(i) {
			to[j] = T((v - origin[j]) / of.lengthScale)
			square += float64(to[j]) * float64(to[j])
		}
		p.half[i], p.far[i] = T(-square/2), !(square <= farSquare[T]())
	}
	return p
}

// rows returns rows [lo, hi).
func (p *points[T]) rows(lo, hi int) *points[T] {
	if p.far == nil {
		return &points[T]{x: p.x.RowRange(lo, hi)}
	}
	return &points[T]{p.x.RowRange(lo, hi), p.moved.RowRange(lo, hi), p.half[lo:hi], p.far[lo:hi]}
}

// anyFar reports whether p has a row that is far from the origin.
func (p *points[T]) anyFar() bool { return slices.Contains(p.far, true) }

// tile is scratch memory of a goroutine.
type tile[T dense.Float] struct {
	values, sums, other, poly scratch.Buffer[T]
	packed                    matmul.Packed[T]
}

var tiles pool.Pair[tile[float32], tile[float64]]

// begin prepares tiles with columns y.
func (t *tile[T]) begin(y *points[T]) {
	if y.far != nil {
		matmul.PackT(&t.packed, y.moved)
	}
}

// fill returns the values of a kernel at the pairs of x with the rows y of begin. If a row is far
// from the origin, kernels.Gram subtracts all rows from each other.
func (t *tile[T]) fill(k kernels.Kernel, x, y *points[T]) dense.Matrix[T] {
	t.values.Shape(x.x.Rows, y.x.Rows)
	g := t.values.Rows(x.x.Rows)
	of, ok := profileOf(k)
	if !ok || x.anyFar() || y.anyFar() {
		return kernels.Gram(g, k, x.x, y.x)
	}
	matmul.MulPacked(1, x.moved, &t.packed, 0, g, nil)
	t.poly.Shape(1, g.Cols)
	for i := range g.Rows {
		row := g.Row(i)
		vecmath.AffineEach(row, 1, y.half, x.half[i])
		apply(of, row, t.poly.Rows(1).Row(0))
	}
	return g
}
