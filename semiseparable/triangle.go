package semiseparable

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/product"
)

// micro is the order of the small triangles on the diagonal of a chunk's
// triangle, which are inverted explicitly so that a solution is made of matrix products.
const micro = 16

// triangle is the triangle T_CC of a chunk C of rows, c×c and contiguous. In the form
// for products, it is T_CC itself, zeros above the diagonal. In the form for solutions,
// each small triangle on the diagonal is replaced by its inverse; what is above them is
// undefined.
type triangle[T dense.Float] struct{ dense.Matrix[T] }

// fill makes t the triangle of rows lo ≤ i < hi of m.
func (t triangle[T]) fill(m *Matrix[T], lo, hi int, solving bool) {
	product.MulT(1, m.Q.RowRange(lo, hi), m.K.RowRange(lo, hi), 0, t.Matrix)
	diag := m.diagRange(lo, hi)
	if solving {
		for at := 0; at < t.Rows; at += micro {
			end := min(at+micro, t.Rows)
			var pivots []T
			if diag != nil {
				pivots = diag[at:end]
			}
			invertSmall(t.Data[at*t.Stride+at:], t.Stride, end-at, pivots)
		}
		return
	}
	for i := range t.Rows {
		row := t.Row(i)
		row[i] = m.diag(lo + i)
		clear(row[i+1:])
	}
}

// invertSmall replaces a triangle of order n ≤ micro by its inverse, zeros above
// the diagonal included. Its diagonal is diag, ones for nil; what is on the diagonal of
// x and above is not read. Row i of the inverse X is
//
//	X_i = (e_i − Σ_{l<i} t_il·X_l) / λ_i
func invertSmall[T dense.Float](x []T, stride, n int, diag []T) {
	var t [micro]T
	for i := range n {
		row := x[i*stride:][:n]
		copy(t[:i], row[:i])
		clear(row)
		l := 0
		for ; l+4 <= i; l += 4 {
			// Rows of X are zero beyond their diagonals: four may be taken for as long.
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

// solve replaces W by T_CC⁻¹·W, by substitution: for one small triangle B after another
//
//	W_B ← T_BB⁻¹·W_B,  W_R ← W_R − T_RB·W_B for the rows R below.
//
// p is scratch memory.
func (t triangle[T]) solve(w dense.Matrix[T], p *product.Packed[T]) {
	n := t.Rows
	for at := 0; at < n; at += micro {
		end := min(at+micro, n)
		b := w.RowRange(at, end)
		product.Pack(p, b)
		product.MulPacked(1, t.part(at, end, at, end), p, 0, b, nil)
		if end < n {
			product.Pack(p, b)
			product.MulPacked(-1, t.part(end, n, at, end), p, 1, w.RowRange(end, n), nil)
		}
	}
}

// solveTransposed replaces W by T_CC⁻ᵀ·W, as solve does, from the last small triangle
// to the first.
func (t triangle[T]) solveTransposed(w dense.Matrix[T], p *product.Packed[T]) {
	n := t.Rows
	for at := (n - 1) / micro * micro; at >= 0; at -= micro {
		end := min(at+micro, n)
		b := w.RowRange(at, end)
		product.Pack(p, b)
		product.TMulPacked(1, t.part(at, end, at, end), p, 0, b, nil)
		if at > 0 {
			product.Pack(p, b)
			product.TMulPacked(-1, t.part(at, end, 0, at), p, 1, w.RowRange(0, at), nil)
		}
	}
}

// part returns rows r0 ≤ i < r1 and columns c0 ≤ j < c1.
func (t triangle[T]) part(r0, r1, c0, c1 int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: r1 - r0, Cols: c1 - c0, Data: t.Data[r0*t.Stride+c0:], Stride: t.Stride}
}
