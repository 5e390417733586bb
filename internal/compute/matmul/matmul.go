// Package matmul computes the matrix product C = α·A·B + β·C, with A or B or their transposes, on
// row-major matrices with strides, for float32 and float64. A zero in A does not hide a NaN or an
// Inf in B: 0·NaN is NaN. Element (i, j) of C is a fixed sequence of operations, over the inner
// index in ascending order, which does not depend on the other rows and columns: a row of C has the
// same bits in a product with fewer or more rows.
//
// If the left operand has few rows, the right operand is read once and in place. Otherwise it is
// first copied into panels, the layout that kernels read [Goto & van de Geijn 2008: Anatomy of
// high-performance matrix multiplication, ACM TOMS 34(3)]. Elements of 16 bits of a right operand
// are widened in registers, or into panels. A tile of C, which is some rows times a panel, stays in
// registers while the inner index runs over depth values. The panels of a block of inner indices
// stay in the second cache for many rows. Kernels read A in place, or a copy of some rows in the
// other half of the second cache if many panels use the rows.
//
// The kernels fuse multiplication and addition, except in pure Go: the bits of results differ
// between tiers. For each block of depth inner indices the error is at most depth·u·Σ|a·b|, with u
// = 2⁻²⁴ or 2⁻⁵³, and each block adds one rounding.
package matmul

import (
	"fmt"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

type Float = dense.Float

// Matrix is a row-major r×c view: element (i, j) is Data[i*Stride+j].
type Matrix[T Float] interface {
	~struct {
		Rows, Cols int
		Data       []T
		Stride     int
	}
}

type Epilogue interface {
	// A product calls Finish once for every finished tile of C, rows lo ≤ i < hi and columns
	// from ≤ j < to, on the goroutine that has computed the tile.
	Finish(lo, hi, from, to int)
}

// Mul computes C = α·A·B + β·C, where A is m×k, B is k×n and C is m×n. C must not overlap A or B.
// If β = 0, Mul does not read C. Mul panics if the shapes do not fit. It allocates scratch memory,
// which later calls use again.
func Mul[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	productsOf[T]().mul(alpha, of(a, false), of(b, false), beta, of(c, false))
}

// MulOnce is Mul for a B that is probably in no cache: it prefetches B. The bits are the same.
func MulOnce[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	productsOf[T]().mulOnce(alpha, of(a, false), of(b, false), beta, of(c, false))
}

// MulT computes C = α·A·Bᵀ + β·C, where A is m×k, B is n×k and C is m×n. The rest is as for Mul.
func MulT[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	productsOf[T]().mul(alpha, of(a, false), of(b, true), beta, of(c, false))
}

// TMul computes C = α·Aᵀ·B + β·C, where A is k×m, B is k×n and C is m×n. The rest is as for Mul.
func TMul[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	productsOf[T]().mul(alpha, of(a, true), of(b, false), beta, of(c, false))
}

// TMulT computes C = α·Aᵀ·Bᵀ + β·C, where A is k×m, B is n×k and C is m×n. The rest is as for Mul.
func TMulT[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	productsOf[T]().mul(alpha, of(a, true), of(b, true), beta, of(c, false))
}

// MulTHalf is MulT for a B whose elements have 16 bits, with the bits of MulT for the same elements
// as elements of T.
func MulTHalf[T Float, M Matrix[T]](alpha T, a M, b Half, beta T, c M) {
	productsOf[T]().mul(alpha, of(a, false), operand[T]{rows: b.Cols, cols: b.Rows, half: b.Data, bfloat: b.BFloat, stride: b.Cols, trans: true}, beta, of(c, false))
}

// MulInPlace is Mul on the calling goroutine, which reads B in place: for small products, and for
// pieces of parallel work whose B stays in a cache. The bits are the same.
func MulInPlace[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	productsOf[T]().mulInPlace(alpha, of(a, false), of(b, false), beta, of(c, false))
}

// TMulInPlace is MulInPlace for Aᵀ.
func TMulInPlace[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	productsOf[T]().mulInPlace(alpha, of(a, true), of(b, false), beta, of(c, false))
}

// MulPacked computes C = α·A·B + β·C for a packed operand B, and calls done, if it is not nil, for
// every tile of C. The rest is as for Mul, with the same bits.
func MulPacked[T Float, M Matrix[T]](alpha T, a M, b *Packed[T], beta T, c M, done Epilogue) {
	productsOf[T]().mulPacked(alpha, of(a, false), b, beta, of(c, false), done)
}

// TMulPacked is MulPacked for Aᵀ.
func TMulPacked[T Float, M Matrix[T]](alpha T, a M, b *Packed[T], beta T, c M, done Epilogue) {
	productsOf[T]().mulPacked(alpha, of(a, true), b, beta, of(c, false), done)
}

// operand is a Matrix, or its transpose if trans is true. It has functions instead of methods,
// because packages that call products would compile the methods.
type operand[T Float] struct {
	rows, cols int
	data       []T
	half       []uint16 // unless nil, the elements instead of data
	bfloat     bool     // elements of half are bfloat16
	stride     int
	trans      bool
}

func of[T Float, M Matrix[T]](m M, trans bool) operand[T] {
	f := struct {
		Rows, Cols int
		Data       []T
		Stride     int
	}(m)
	v := operand[T]{rows: f.Rows, cols: f.Cols, data: f.Data, stride: f.Stride, trans: trans}
	if trans {
		v.rows, v.cols = v.cols, v.rows
	}
	return v
}

// steps returns the distances between neighbours in a column and in a row.
func steps[T Float](a *operand[T]) (row, col int) {
	if a.trans {
		return 1, a.stride
	}
	return a.stride, 1
}

func leftAt[T Float](a *operand[T], i, l int) left[T] {
	row, col := steps(a)
	return left[T]{&a.data[i*row+l*col], row, col}
}

func part[T Float](a operand[T], r0, r1, c0, c1 int) operand[T] {
	row, col := steps(&a)
	if skip := r0*row + c0*col; a.half != nil {
		a.half = a.half[skip:]
	} else {
		a.data = a.data[skip:]
	}
	a.rows, a.cols = r1-r0, c1-c0
	return a
}

func expect[T Float](a *operand[T], i, rows, l, cols int) {
	row, col := steps(a)
	first := i*row + l*col
	if a.trans {
		rows, cols = cols, rows
	}
	if rows > 0 && cols > 0 {
		prefetch((*byte)(unsafe.Pointer(&a.data[first])), rows, a.stride*simd.Size[T](), cols*simd.Size[T]())
	}
}

// products are the products of one element type. The exported functions call an interface, because
// packages that call the exported functions would otherwise compile all products again.
type products[T Float] interface {
	mul(alpha T, a, b operand[T], beta T, c operand[T])
	mulOnce(alpha T, a, b operand[T], beta T, c operand[T])
	mulInPlace(alpha T, a, b operand[T], beta T, c operand[T])
	mulPacked(alpha T, a operand[T], b *Packed[T], beta T, c operand[T], done Epilogue)
	pack(p *Packed[T], b operand[T])
}

type instance[T Float] struct{}

var (
	products32 products[float32] = instance[float32]{}
	products64 products[float64] = instance[float64]{}

	// bothProducts are the addresses of products32 and products64. If productsOf named both
	// variables, callers would compile the methods of both types.
	bothProducts = [2]unsafe.Pointer{unsafe.Pointer(&products32), unsafe.Pointer(&products64)}
)

func productsOf[T Float]() products[T] { return *(*products[T])(bothProducts[simd.Size[T]()/8]) }

// mul reads B in place if A has few rows. Otherwise mul packs B, in parts if B is large, and
// multiplies.
func (x instance[T]) mul(alpha T, a, b operand[T], beta T, c operand[T]) {
	check(a, b.rows, b.cols, c)
	if (b.trans || b.rows*b.cols > cache.L2/2/simd.Size[T]()) && mulFew(alpha, a, b, beta, c) {
		return
	}
	if !b.trans && Strips[T](c.rows) <= stripsInPlace && float64(c.rows)*float64(b.rows)*float64(b.cols) < serialBelow {
		x.mulInPlace(alpha, a, b, beta, c)
		return
	}
	if isNarrow(b) {
		x.mulPacked(alpha, a, &Packed[T]{rows: b.rows, cols: b.cols, data: b.data, stride: b.stride}, beta, c, nil)
		return
	}
	rows, columns := packedPart[T](b.rows, b.cols)
	p := pool.Get[Packed[T]](&packs)
	defer pool.Put(&packs, p)
	for from := 0; from < b.cols; from += columns {
		to := min(from+columns, b.cols)
		// There is one part if B has no rows.
		for lo := 0; lo == 0 || lo < b.rows; lo += rows {
			hi, old := min(lo+rows, b.rows), beta
			if lo > 0 {
				old = 1
			}
			x.pack(p, part(b, lo, hi, from, to))
			x.mulPacked(alpha, part(a, 0, a.rows, lo, hi), p, old, part(c, 0, c.rows, from, to), nil)
		}
	}
}

func (x instance[T]) mulOnce(alpha T, a, b operand[T], beta T, c operand[T]) {
	check(a, b.rows, b.cols, c)
	if !mulFew(alpha, a, b, beta, c) {
		expect(&b, 0, b.rows, 0, b.cols)
		x.mul(alpha, a, b, beta, c)
	}
}

// For up to stripsInPlace strips packing B would take longer than it saves.
const stripsInPlace = 4

func (instance[T]) mulInPlace(alpha T, a, b operand[T], beta T, c operand[T]) {
	check(a, b.rows, b.cols, c)
	if b.rows == 0 {
		scale(c, beta, 0, c.rows, 0, c.cols)
		return
	}
	k, strips := best[T](), Strips[T](c.rows)
	for block := 0; block < b.rows; block += depth {
		n := min(depth, b.rows-block)
		for s := range strips {
			i := parallel.Share(c.rows, strips, s)
			height, x := parallel.Share(c.rows, strips, s+1)-i, leftAt(&a, i, block)
			for at := 0; at < c.cols; {
				vectors, last, panels := 2, k.lanes, (c.cols-at)/(2*k.lanes)
				if panels == 0 {
					vectors, last, panels = 1, min(c.cols-at, k.lanes), 1
				}
				y := right[T]{first: &b.data[block*b.stride+at], row: b.stride, panel: 2 * k.lanes}
				k.strip(height, vectors)(n, x, y, target[T]{&c.data[i*c.stride+at], c.stride, last}, alpha, beta, panels)
				at += panels * ((vectors-1)*k.lanes + last)
			}
		}
		beta = 1
	}
}

func check[T Float](a operand[T], k, n int, c operand[T]) {
	if a.cols != k || c.rows != a.rows || c.cols != n {
		panic(fmt.Sprintf("matmul: (%d×%d)·(%d×%d) does not fit %d×%d", a.rows, a.cols, k, n, c.rows, c.cols))
	}
}
