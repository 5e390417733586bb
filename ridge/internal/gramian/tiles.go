// Package gramian computes Gram matrices in tiles that stay in a cache, by vector functions.
package gramian

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/kernels"
)

type Profile struct {
	LengthScale float64
	Nu          float64 // ν of a Matérn kernel, or 0 for a Gaussian kernel
}

// ProfileOf returns the profile of a kernel, and false for kernels without vector functions.
func ProfileOf(k kernels.Kernel) (p Profile, ok bool) {
	switch k := k.(type) {
	case kernels.Gaussian:
		p = Profile{k.LengthScale, 0}
	case kernels.Matern:
		if p = (Profile{k.LengthScale, k.Nu}); k.Nu == 0 {
			p.Nu = 1.5
		}
	default:
		return p, false
	}
	if p.LengthScale == 0 {
		p.LengthScale = 1
	}
	return p, true
}

// apply turns products xᵀy of a row x, with −‖x‖²/2 = c, and rows y, with −‖y‖²/2 = half, into
// values of the kernel.
func apply[T dense.Float](p Profile, products, half []T, c T) {
	a := T(-4 * p.Nu) // s = 2ν·‖x − y‖²
	switch p.Nu {
	case 0:
		vecmath.AffineEach(products, 1, half, c)
		vecmath.Exp(products, products)
	case 0.5:
		vecmath.Matern(products, a, half, c, 0, 0)
	case 1.5:
		vecmath.Matern(products, a, half, c, 1, 0)
	default:
		vecmath.Matern(products, a, half, c, 1, T(1.0/3))
	}
}

// Derivative returns dk/dq for k = k(√q), or 0 where that of ν = ½ is infinite.
func (p Profile) Derivative(q, k float64) float64 {
	r := math.Sqrt(q)
	switch p.Nu {
	case 0:
		return -k / 2
	case 0.5:
		if r == 0 {
			return 0
		}
		return -k / (2 * r)
	case 1.5:
		return -1.5 * math.Exp(-math.Sqrt(3)*r)
	}
	return -5.0 / 6 * (1 + math.Sqrt(5)*r) * math.Exp(-math.Sqrt(5)*r)
}

type Points[T dense.Float] struct {
	x     dense.Matrix[T]
	moved dense.Matrix[T] // (x − origin)/ℓ, for a profile
	half  []T             // −‖moved‖²/2
	far   []bool          // rows whose moved has too few digits for differences
}

// farSquare is the ‖moved‖² above which kernels have errors: about (d + 2)·u·‖moved‖² by rounding.
func farSquare[T dense.Float]() float64 {
	if vecmath.Roundoff[T]() > 0x1p-30 {
		return 0x1p10
	}
	return 0x1p20
}

func NewPoints[T dense.Float](k kernels.Kernel, x dense.Matrix[float64], origin []float64) *Points[T] {
	p := &Points[T]{x: dense.Copy(dense.Matrix[T]{}, x)}
	of, ok := ProfileOf(k)
	if !ok {
		return p
	}
	p.moved, p.half, p.far = dense.New[T](x.Rows, x.Cols), make([]T, x.Rows), make([]bool, x.Rows)
	for i := range x.Rows {
		to, square := p.moved.Row(i), 0.0
		for j, v := range x.Row(i) {
			to[j] = T((v - origin[j]) / of.LengthScale)
			square += float64(to[j]) * float64(to[j])
		}
		p.half[i], p.far[i] = T(-square/2), !(square <= farSquare[T]())
	}
	return p
}

func (p *Points[T]) Rows(lo, hi int) *Points[T] {
	if p.far == nil {
		return &Points[T]{x: p.x.RowRange(lo, hi)}
	}
	return &Points[T]{p.x.RowRange(lo, hi), p.moved.RowRange(lo, hi), p.half[lo:hi], p.far[lo:hi]}
}

// subtract computes e_j = −‖x_i − y_j‖²/2 from differences if x_i or y_j is far and e_j, with the
// rounding of products, may be so large that the kernel is above 10⁻¹⁷.
func subtract[T dense.Float](p Profile, e []T, x, y *Points[T], i int) {
	const least = -1e4 // of e, so that polynomials of kernels are finite
	reach := 40.0
	if p.Nu > 0 {
		reach = 530 / p.Nu
	}
	own, rounding := x.x.Row(i), 4*float64(x.x.Cols+2)*vecmath.Roundoff[T]()
	for j, v := range e {
		if !x.far[i] && !y.far[j] {
			continue
		}
		if float64(v) < rounding*float64(x.half[i]+y.half[j])-reach {
			e[j] = max(v, least)
			continue
		}
		square := 0.0
		for c, w := range y.x.Row(j) {
			d := (float64(own[c]) - float64(w)) / p.LengthScale
			square += d * d
		}
		e[j] = T(max(-square/2, least))
	}
}

type Tile[T dense.Float] struct {
	Sums, Other, Across scratch.Buffer[T] // for products with tiles
	values, zeros       scratch.Buffer[T]
	packed              matmul.Packed[T]
}

var Tiles pool.Pair[Tile[float32], Tile[float64]]

func (t *Tile[T]) Begin(y *Points[T]) {
	if y.far != nil {
		matmul.PackT(&t.packed, y.moved)
	}
}

// Gram writes the values of k at the pairs of rows of x and y, or of x and x for a zero y, to dst,
// which is allocated if it has another shape.
func Gram(dst dense.Matrix[float64], k kernels.Kernel, x, y dense.Matrix[float64]) dense.Matrix[float64] {
	if _, ok := ProfileOf(k); !ok {
		return kernels.Gram(dst, k, x, y)
	}
	origin := Medians(x)
	xs := NewPoints[float64](k, x, origin)
	ys := xs
	if y.Data != nil {
		ys = NewPoints[float64](k, y, origin)
	}
	n := ys.x.Rows
	dst = dense.Ensure(dst, x.Rows, n)
	parallel.Rows(x.Rows, TileRows, func(lo, hi int) {
		t := pool.Get[Tile[float64]](&Tiles)
		defer pool.Put(&Tiles, t)
		for from := 0; from < n; from += BlockRows {
			to := min(from+BlockRows, n)
			y := ys.Rows(from, to)
			t.Begin(y)
			dense.Copy(dst.RowRange(lo, hi).ColRange(from, to), t.Fill(k, xs.Rows(lo, hi), y))
		}
		// distances to a row itself have rounding, and the kernel may have a corner
		for i := lo; i < hi && xs == ys; i++ {
			dst.Row(i)[i] = k.Eval(x.Row(i), x.Row(i))
		}
	})
	return dst
}

// Fill returns the values of a kernel at the pairs of x with the rows y of Begin.
func (t *Tile[T]) Fill(k kernels.Kernel, x, y *Points[T]) dense.Matrix[T] {
	t.values.Shape(x.x.Rows, y.x.Rows)
	g := t.values.Rows(x.x.Rows)
	of, ok := ProfileOf(k)
	if !ok {
		return kernels.Gram(g, k, x.x, y.x)
	}
	far := slices.Contains(x.far, true) || slices.Contains(y.far, true)
	matmul.MulPacked(1, x.moved, &t.packed, 0, g, nil)
	t.zeros.Shape(1, g.Cols)
	zeros := t.zeros.Rows(1).Row(0)
	clear(zeros)
	for i := range g.Rows {
		row := g.Row(i)
		if !far {
			apply(of, row, y.half, x.half[i])
			continue
		}
		vecmath.AffineEach(row, 1, y.half, x.half[i])
		subtract(of, row, x, y, i)
		apply(of, row, zeros, 0)
	}
	return g
}
