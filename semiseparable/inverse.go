package semiseparable

import (
	"sync/atomic"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// The number does not depend on caches, because the order of sums depends on it.
const inverseChunk = 128

// largeFrom times the second cache is more than a cache is likely to hold.
const largeFrom = 16

// Inverse writes the inverse of the lower-triangular Matrix T, with the zeros above the diagonal,
// into dst and returns dst. Inverse allocates a zero-value dst; dst must not overlap Q, K or Diag.
// For n×d matrices Q and K, Inverse takes O(n²·d) operations and, beyond dst, n·(d + n/64) elements
// of memory.
//
// The error of Inverse is an *ElementError if an element of Diag cannot be a divisor, or if Q or K
// has NaN or ±Inf. The error of Inverse is an *OverflowError if the inverse leaves the range of the
// element type, and a *ResidualError if a block on the diagonal of T is so ill-conditioned that
// T·T⁻¹ − I is larger than rounding explains. After an error of Inverse the elements of dst are
// undefined.
func (m Matrix[T]) Inverse(dst dense.Matrix[T]) (dense.Matrix[T], error) {
	return m.inverse(dst, inverseChunk)
}

func (m Matrix[T]) inverse(dst dense.Matrix[T], chunk int) (dense.Matrix[T], error) {
	n, d := m.Dims()
	dst = dense.Ensure(dst, n, n)
	if err := checkPivots(m.Diag); err != nil {
		return dst, err
	}
	if err := checkArguments(m.Diag, m.Q, m.K); err != nil {
		return dst, err
	}
	if n == 0 {
		return dst, nil
	}
	v := pool.Get[inversion[T]](&inversions)
	v.Matrix, v.dst = m, dst
	v.chunk = min(chunk, n)
	v.chunks = (n + v.chunk - 1) / v.chunk
	v.data = scratch.Resize(v.data, n*d)
	v.p = dense.Of(n, d, v.data)
	v.overflow.Store(false)

	v.signs, v.sums, v.sizes, v.z = scratch.Resize(v.signs, n), scratch.Resize(v.sums, n*v.chunks), scratch.Resize(v.sizes, n*v.chunks), scratch.Resize(v.z, d)
	sign(v.signs)
	v.zeros = scratch.Resize(v.zeros, n)
	clear(v.zeros)
	var element T
	v.large = n*int(unsafe.Sizeof(element)) > largeFrom*cache.L2/n

	v.stage = onDiagonal
	parallel.Do(v.chunks, v)
	v.stage = belowDiagonal
	parallel.Do(v.chunks-1, v)
	overflow := v.overflow.Load()
	var residual error
	if !overflow {
		v.total()
		residual = v.residual()
	}

	v.Matrix, v.dst = Matrix[T]{}, dense.Matrix[T]{}
	pool.Put(&inversions, v)
	if overflow {
		return dst, checkResult(dst, false)
	}
	return dst, residual
}

// inversion computes Y = T⁻¹: first, for all chunks C in parallel,
//
//	Y_CC = T_CC⁻¹,  P_C = −Y_CC·Q_C  (n×d in all),
//
// and then, for all chunks J in parallel, the columns of J, chunk after chunk downwards:
//
//	Z = K_JᵀY_JJ;  Y_CJ = P_C·Z,  Z ← Z + K_CᵀY_CJ  for C below J.
type inversion[T dense.Float] struct {
	Matrix[T]
	dst, p        dense.Matrix[T]
	data          []T
	chunk, chunks int
	stage         stage
	overflow      atomic.Bool
	large         bool // no cache is likely to hold dst

	zeros                 []T
	signs, sums, sizes, z []T // for the residual
}

type stage int

const (
	onDiagonal stage = iota
	belowDiagonal
)

type inverseColumns[T dense.Float] struct {
	y, z   []T
	factor triangular.Factor[T]
	py, pz matmul.Packed[T]
}

func (v *inversion[T]) Piece(i int) {
	c := pool.Get[inverseColumns[T]](&pieces)
	switch v.stage {
	case onDiagonal:
		v.fillDiagonal(c, i)
	case belowDiagonal:
		v.fillBelow(c, i)
	}
	pool.Put(&pieces, c)
}

func (v *inversion[T]) rows(chunk int) (lo, hi int) {
	return chunk * v.chunk, min((chunk+1)*v.chunk, v.Q.Rows)
}

func (v *inversion[T]) fillDiagonal(c *inverseColumns[T], chunk int) {
	lo, hi := v.rows(chunk)
	n := hi - lo
	c.y, c.z = scratch.Resize(c.y, n*n), scratch.Resize(c.z, n*n)
	y, t := dense.Of(n, n, c.y), dense.Of(n, n, c.z)
	v.below(t, lo, hi)
	c.factor.Set(t, v.diagRange(lo, hi))
	clear(c.y)
	for i := range n {
		y.Data[i*n+i] = 1
	}
	c.factor.Solve(y)
	matmul.Mul(-1, y, v.Q.RowRange(lo, hi), 0, v.p.RowRange(lo, hi))
	v.sum(y, chunk, chunk)
	for i := range n {
		row := v.dst.Row(lo + i)
		copy(row[lo:], y.Row(i)[:i+1])
		clear(row[lo+i+1 : hi])
		v.write(row[hi:], v.zeros)
	}
	if chunk == v.chunks-1 {
		v.inspect(c.y)
	}
}

func (v *inversion[T]) fillBelow(c *inverseColumns[T], chunk int) {
	from, to := v.rows(chunk)
	n, d := to-from, v.Q.Cols
	c.y, c.z = scratch.Resize(c.y, v.chunk*n), scratch.Resize(c.z, d*n)
	z := dense.Of(d, n, c.z)
	matmul.TMul(1, v.K.RowRange(from, to), v.dst.RowRange(from, to).ColRange(from, to), 0, z)
	for below := chunk + 1; below < v.chunks; below++ {
		lo, hi := v.rows(below)
		// y is not in dst, because a cache may hold few rows of dst if they are far apart.
		y := dense.Of(hi-lo, n, c.y[:(hi-lo)*n])
		touch(v.p.RowRange(lo, hi))
		touch(v.K.RowRange(lo, hi))
		matmul.Pack(&c.pz, z)
		matmul.MulPacked(1, v.p.RowRange(lo, hi), &c.pz, 0, y, nil)
		v.sum(y, below, chunk)
		for i := range y.Rows {
			v.write(v.dst.Row(lo + i)[from:to], y.Row(i))
		}
		if below == v.chunks-1 {
			v.inspect(y.Data)
			return
		}
		matmul.Pack(&c.py, y)
		matmul.TMulPacked(1, v.K.RowRange(lo, hi), &c.py, 1, z, nil)
	}
}

func (v *inversion[T]) write(row, x []T) {
	if v.large {
		cache.CopyPast(row, x)
	} else {
		copy(row, x)
	}
}

// The last rows suffice: an element of Y that is not finite reaches Z and the rows below.
func (v *inversion[T]) inspect(y []T) {
	if !finite(y) {
		v.overflow.Store(true)
	}
}
