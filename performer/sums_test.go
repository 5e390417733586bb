package performer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// quotients returns numerators over denominators of the sums of both parts.
func quotients[T dense.Float](a, b dense.Matrix[T]) dense.Matrix[float64] {
	n := a.Cols - 2
	out := dense.New[float64](a.Rows, n-1)
	for i := range a.Rows {
		x, y := a.Row(i), b.Row(i)
		top := math.Max(float64(x[n+1]), float64(y[n+1]))
		fx := math.Ldexp(float64(x[n]), int(max(float64(x[n+1])-top, -5000)))
		fy := math.Ldexp(float64(y[n]), int(max(float64(y[n+1])-top, -5000)))
		total := fx*float64(x[n-1]) + fy*float64(y[n-1])
		for j := range n - 1 {
			out.Set(i, j, (fx*float64(x[j])+fy*float64(y[j]))/total)
		}
	}
	return out
}

// Sums over two sets of features are those of attention with all of them.
func TestSums(t *testing.T) {
	densetest.Both(t, testSums[float32], testSums[float64])
}

func testSums[T dense.Float](t *testing.T) {
	const n, d, m = 150, 8, 16
	rng := rand.New(densetest.Source(73))
	w := must.Have(orf.Draw[T](orf.IID{}, 2*m, d, densetest.Source(74))).Frequencies()
	positive := func(w dense.Matrix[T]) rff.LogMap[T] {
		return must.Have(rff.SoftmaxPositive(must.Have(orf.FromMatrix(w)), 1))
	}
	for _, norm := range []float64{0.5, 4, 100} {
		q, k, v := densetest.Sphere[T](rng, n, d, norm), densetest.Sphere[T](rng, n, d, norm), densetest.Normal[T](rng, n, 3, 0, 1)
		for _, causal := range []bool{false, true} {
			whole := attention[T](positive(w), LinearOptions{Causal: causal})
			want, tol := newPairs(whole, q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
			one := positive(w.RowRange(0, m))
			first := attention[T](one, LinearOptions{Causal: causal}).Sums(dense.Matrix[T]{}, q, k, v)
			second := attention[T](positive(w.RowRange(m, 2*m)), LinearOptions{Causal: causal}).Sums(dense.Matrix[T]{}, q, k, v)
			for _, got := range []dense.Matrix[float64]{quotients(first, second), quotients(second, first)} {
				densetest.RequireClose(t, want, tol, dense.Copy(dense.Matrix[T]{}, got), "norm %v, causal %v", norm, causal)
			}
		}
	}
}

// Sums over two sets of features far out, where a float32 holds the scale of a row to less than
// a factor: averages of values, and in float64 those of all features together.
func TestSumsFar(t *testing.T) {
	densetest.Both(t, testSumsFar[float32], testSumsFar[float64])
}

func testSumsFar[T dense.Float](t *testing.T) {
	const n, d, m = 70, 64, 8
	rng := rand.New(densetest.Source(75))
	w := must.Have(orf.Draw[T](orf.IID{}, 2*m, d, densetest.Source(76))).Frequencies()
	positive := func(w dense.Matrix[T]) rff.LogMap[T] {
		return must.Have(rff.SoftmaxPositive(must.Have(orf.FromMatrix(w)), 1.0/8))
	}
	for _, norm := range []float64{1e5, 1e10, of[T](1e19, 1e100)} {
		q, k, v := densetest.Sphere[T](rng, n, d, norm), densetest.Sphere[T](rng, n, d, norm), densetest.Normal[T](rng, n, 3, 0, 1)
		for _, causal := range []bool{false, true} {
			opts := LinearOptions{Causal: causal}
			one := attention[T](positive(w.RowRange(0, m)), opts).Sums(dense.Matrix[T]{}, q, k, v)
			got := quotients(one, attention[T](positive(w.RowRange(m, 2*m)), opts).Sums(dense.Matrix[T]{}, q, k, v))
			requireAverages(t, got, dense.Copy(dense.Matrix[float64]{}, v), "norm %v, causal %v", norm, causal)
			if densetest.Roundoff[T]() < 0x1p-50 && norm < 1e6 {
				want, tol := truthOf(attention[T](positive(w), LinearOptions{Causal: causal}), q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
				for i := range tol.Data {
					tol.Data[i] += 1e-6 // scales of e^(10⁹) are known to 2⁻²³
				}
				densetest.RequireClose(t, want, tol, got, "norm %v, causal %v", norm, causal)
			}
		}
	}
}

// Without keys sums are zero, and so is the output; without values there are denominators.
func TestSumsOfNothing(t *testing.T) {
	x := densetest.Normal[float32](rand.New(densetest.Source(77)), 4, 3, 0, 1)
	for _, causal := range []bool{false, true} {
		a := attention[float32](maptest.Positive[float32](8, 3), LinearOptions{Causal: causal})
		rows := x.RowRange(0, 0)
		if !causal {
			rows = x
		}
		for _, row := range a.Sums(dense.Matrix[float32]{}, rows, x.RowRange(0, 0), x.RowRange(0, 0)).Data {
			assert.True(t, row == 0 || row == 1)
		}
		none, all := a.Sums(dense.Matrix[float32]{}, x, x, x.ColRange(0, 0)), a.Sums(dense.Matrix[float32]{}, x, x, x)
		for i := range x.Rows {
			assert.Equal(t, all.Row(i)[3:], none.Row(i))
		}
	}
	unnormalised := attention[float32](maptest.Positive[float32](8, 3), LinearOptions{Unnormalised: true})
	assert.PanicsWithValue(t, "performer: the Linear is unnormalised, want outputs that are quotients", func() { unnormalised.Sums(x, x, x, x) })
}
