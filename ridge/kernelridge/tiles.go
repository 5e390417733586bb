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
	switch e := any(e).(type) {
	case []float32:
		roots(p.nu, e, any(poly).([]float32), func(x float32) float32 { return float32(math.Sqrt(float64(x))) })
	case []float64:
		roots(p.nu, e, any(poly).([]float64), math.Sqrt)
	}
	vecmath.Exp(e, e)
	vecmath.Multiply(e, poly)
}

// roots replaces e[j] by −r for r = √(−4ν·e[j]), and sets poly[j] to the polynomial in r of a Matérn
// kernel.
func roots[T dense.Float](nu float64, e, poly []T, root func(T) T) {
	poly = poly[:len(e)]
	factor := T(-4 * nu)
	var linear, square T
	switch nu {
	case 1.5:
		linear = 1
	case 2.5:
		linear, square = 1, T(1.0/3)
	}
	for j, v := range e {
		r := root(factor * min(v, 0))
		e[j], poly[j] = -r, 1+r*(linear+square*r)
	}
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
