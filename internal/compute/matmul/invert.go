package matmul

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

const MaxInvert = 16

// InvertTriangle replaces the lower-triangular matrix A, of order n ≤ MaxInvert, by its inverse X
// with the rows X_i = (e_i − Σ_{l<i} a_il·X_l)/λ_i, and writes zeros above the diagonal. The
// diagonal λ is diag, or ones if diag is nil: the diagonal of A and what is above are not read.
func InvertTriangle[T Float, M Matrix[T]](a M, diag []T) {
	v := of(a, false)
	n := v.rows
	if n != v.cols || n > MaxInvert || diag != nil && len(diag) != n {
		panic(fmt.Sprintf("matmul: %d×%d with %d elements on the diagonal is no triangle of order %d at most", n, v.cols, len(diag), MaxInvert))
	}
	if n == 0 {
		return
	}
	k := best[T]()
	if k.invert == nil {
		invert(n, v.data, v.stride, diag)
		return
	}
	pivots := simd.Of[T, T](&ones32[0], &ones64[0])
	if diag != nil {
		pivots = &diag[0]
	}
	k.invert(n, &v.data[0], v.stride*simd.Size[T](), pivots)
}

var (
	ones32 = [MaxInvert]float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	ones64 = [MaxInvert]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
)

func invert[T Float](n int, x []T, stride int, diag []T) {
	var t [MaxInvert]T
	for i := range n {
		row := x[i*stride:][:n]
		copy(t[:i], row[:i])
		clear(row)
		l := 0
		for ; l+4 <= i; l += 4 {
			// Rows of X are zero behind their diagonals: four rows can have the same length.
			m := l + 4
			to, x0, x1, x2, x3 := row[:m], x[l*stride:][:m], x[(l+1)*stride:][:m], x[(l+2)*stride:][:m], x[(l+3)*stride:][:m]
			t0, t1, t2, t3 := t[l], t[l+1], t[l+2], t[l+3]
			for j, v := range to {
				v += t0 * x0[j]
				v += t1 * x1[j]
				v += t2 * x2[j]
				v += t3 * x3[j]
				to[j] = v
			}
		}
		for ; l < i; l++ {
			from, v := x[l*stride:][:l+1], t[l]
			to := row[:len(from)]
			for j, w := range from {
				to[j] += v * w
			}
		}
		inverse := T(1)
		if diag != nil {
			inverse = 1 / diag[i]
		}
		for j, v := range row[:i] {
			row[j] = -inverse * v
		}
		row[i] = inverse
	}
}
