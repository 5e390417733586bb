package kernels

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// gramBlock computes rows of a Gram matrix, with inner products that the parts of a kernel share.
type gramBlock[T dense.Float] struct {
	x, y     points[T]
	products shared[T]   // xᵀy
	free     [][]float64 // rows of scratch not in use
}

func newBlock[T dense.Float](x, y points[T]) *gramBlock[T] { return &gramBlock[T]{x: x, y: y} }

func (b *gramBlock[T]) fill(dst dense.Matrix[T], k Kernel) {
	row := b.take()
	for i := range dst.Rows {
		b.row(row, k, i)
		to := dst.Row(i)
		for j, v := range row {
			to[j] = T(v)
		}
	}
	b.free = append(b.free, row)
}

func (b *gramBlock[T]) row(dst []float64, k Kernel, i int) {
	switch k := k.(type) {
	case Sum:
		b.fold(dst, k, i, func(sum, term []float64) {
			for j, v := range term {
				sum[j] += v
			}
		})
	case Product:
		b.fold(dst, k, i, func(product, factor []float64) {
			for j, v := range factor {
				product[j] *= v
			}
		})
	case Scaled:
		b.row(dst, k.K, i)
		for j := range dst {
			dst[j] *= k.By
		}
	default:
		if p, ok := asByProduct(k); ok {
			b.productRow(dst, p, i)
			return
		}
		for j := range dst {
			dst[j] = k.Eval(b.x.exact.Row(i), b.y.exact.Row(j))
		}
	}
}

func (b *gramBlock[T]) fold(dst []float64, ks []Kernel, i int, combine func(acc, v []float64)) {
	b.row(dst, ks[0], i)
	part := b.take()
	for _, k := range ks[1:] {
		b.row(part, k, i)
		combine(dst, part)
	}
	b.free = append(b.free, part)
}

func (b *gramBlock[T]) take() []float64 {
	last := len(b.free) - 1
	if last < 0 {
		return make([]float64, b.y.given.Rows)
	}
	row := b.free[last]
	b.free = b.free[:last]
	return row
}

func (b *gramBlock[T]) productRow(dst []float64, k byProduct, i int) {
	xx, yy := b.x.squares[i], b.y.squares
	tiny := smallest[T]()
	for j, v := range b.products.of(b.x.given, b.y.given).Row(i) {
		g := float64(v)
		// After an overflow or underflow in T the product is of no use.
		if math.IsInf(g, 0) || math.IsInf(xx+yy[j], 1) || !(xx >= tiny && yy[j] >= tiny) {
			g = math.NaN()
		}
		dst[j] = g
	}
	k.fromProducts(dst, xx, yy)
	b.repair(dst, k, i)
}

// repair evaluates k directly at the pairs that fromProducts left NaN.
func (b *gramBlock[T]) repair(dst []float64, k Kernel, i int) {
	for j, v := range dst {
		if math.IsNaN(v) {
			dst[j] = k.Eval(b.x.exact.Row(i), b.y.exact.Row(j))
		}
	}
}

// Terms of an inner product that underflow in T do not matter above this squared norm.
func smallest[T dense.Float]() float64 {
	if _, single := any(T(0)).(float32); single {
		return 0x1p-100
	}
	return 0x1p-960
}

type shared[T dense.Float] struct {
	known  dense.Matrix[T]
	memory []T               // of the last product, used again
	packed *matmul.Packed[T] // Yᵀ; nil if not packed
}

func (s *shared[T]) of(x, y dense.Matrix[T]) dense.Matrix[T] {
	if s.known.Data != nil {
		return s.known
	}
	n := x.Rows * y.Rows
	if len(s.memory) < n || s.memory == nil {
		s.memory = make([]T, n)
	}
	s.known = dense.Of(x.Rows, y.Rows, s.memory[:n])
	if s.packed != nil {
		matmul.MulPacked(1, x, s.packed, 0, s.known, nil)
	} else {
		matmul.MulT(1, x, y, 0, s.known)
	}
	return s.known
}
