package semiseparable

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// deltaRule returns unit keys and q = βk with β uniform in (0, 1), for which the
// solution stays bounded.
func deltaRule[T dense.Float](rng *rand.Rand, n, d int) Matrix[T] {
	m := Matrix[T]{Q: dense.New[T](n, d), K: dense.New[T](n, d)}
	x := make([]float64, d)
	for i := range n {
		norm := 0.0
		for l := range x {
			x[l] = rng.NormFloat64()
			norm += x[l] * x[l]
		}
		beta := rng.Float64()
		for l, v := range x {
			k := v / math.Sqrt(norm)
			m.K.Set(i, l, T(k))
			m.Q.Set(i, l, T(beta*k))
		}
	}
	return m
}

// diagonal returns n numbers of either sign with magnitudes in [½, 2).
func diagonal[T dense.Float](rng *rand.Rand, n int) []T {
	diag := make([]T, n)
	for i := range diag {
		diag[i] = T(math.Exp2(2*rng.Float64() - 1))
		if rng.IntN(2) == 0 {
			diag[i] = -diag[i]
		}
	}
	return diag
}

// truth returns T, or Tᵀ, in float64, and the same with |q|, |k| and |λ| instead, from the
// definition.
func truth[T dense.Float](m Matrix[T], transposed bool) (t, size dense.Matrix[float64]) {
	n, d := m.Q.Rows, m.Q.Cols
	t, size = dense.New[float64](n, n), dense.New[float64](n, n)
	set := func(i, j int, a, b float64) {
		if transposed {
			i, j = j, i
		}
		t.Set(i, j, a)
		size.Set(i, j, b)
	}
	for i := range n {
		x := m.Q.Row(i)[:d]
		for j := range i {
			a, b := 0.0, 0.0
			for l, y := range m.K.Row(j) {
				c := float64(x[l]) * float64(y)
				a, b = a+c, b+math.Abs(c)
			}
			set(i, j, a, b)
		}
		diag := 1.0
		if m.Diag != nil {
			diag = float64(m.Diag[i])
		}
		set(i, i, diag, math.Abs(diag))
	}
	return t, size
}

// times returns T·X, for the t of truth.
func times[T dense.Float](t dense.Matrix[float64], x dense.Matrix[T]) dense.Matrix[T] {
	y := dense.New[T](x.Rows, x.Cols)
	for i := range y.Rows {
		for j := range y.Cols {
			sum := 0.0
			for l, a := range t.Row(i) {
				sum += a * float64(x.At(l, j))
			}
			y.Set(i, j, T(sum))
		}
	}
	return y
}

// backwardError returns max |V − T·Y| / (|V| + |T|·|Y|) with t and size from truth.
func backwardError[T dense.Float](t, size dense.Matrix[float64], y, v dense.Matrix[T]) float64 {
	worst, column := 0.0, make([]float64, y.Rows)
	for j := range y.Cols {
		for l := range column {
			column[l] = float64(y.At(l, j))
		}
		for i := range y.Rows {
			b := float64(v.At(i, j))
			residual, scale := b, math.Abs(b)
			terms, sizes := t.Row(i), size.Row(i)
			for l, c := range column {
				residual -= terms[l] * c
				scale += sizes[l] * math.Abs(c)
			}
			if residual != 0 {
				worst = max(worst, math.Abs(residual)/scale)
			}
		}
	}
	return worst
}

// tolerance bounds the backward error of n rows in chunks: Z is rounded once a
// chunk, products of chunk and of d terms once a term, a small inverse takes and
// gives triangular.Block roundings, all relative to sums of magnitudes. The reference's own
// roundings, n of 2⁻⁵³, come on top. A solution adds the condition numbers of the small
// triangles, below 16 for the operands here.
func tolerance[T dense.Float](n, d, chunk int) float64 {
	chunk = min(chunk, n)
	chunks := (n + chunk - 1) / chunk
	return float64(chunks+chunk+d+16*triangular.Block)*vecmath.Roundoff[T]() + float64(n)*0x1p-53
}

// embed returns a view of the same elements with other strides, in a matrix of
// guards, and what checks that the guards are untouched.
func embed[T dense.Float](t *testing.T, x dense.Matrix[T]) (view dense.Matrix[T], check func()) {
	const guard = 12345
	outer := dense.New[T](x.Rows+2, x.Cols+5)
	for i := range outer.Data {
		outer.Data[i] = guard
	}
	view = dense.Copy(outer.RowRange(1, 1+x.Rows).ColRange(3, 3+x.Cols), x)
	return view, func() {
		t.Helper()
		for i := range outer.Rows {
			for j := range outer.Cols {
				if i < 1 || i > x.Rows || j < 3 || j >= 3+x.Cols {
					require.Equal(t, T(guard), outer.At(i, j), "guard (%d, %d)", i, j)
				}
			}
		}
	}
}
