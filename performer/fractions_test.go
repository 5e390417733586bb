package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/linear"
	"github.com/seed-feabd252/randfeat/rff"
)

// quotients returns numerators over denominators of the sums of both fractions.
func quotients[T dense.Float](a, b linear.Fractions[T]) dense.Matrix[float64] {
	out := dense.New[float64](a.Numerators.Rows, a.Numerators.Cols)
	for i := range out.Rows {
		top := math.Max(float64(a.Exponents.At(i, 0)), float64(b.Exponents.At(i, 0)))
		scale := func(f linear.Fractions[T]) float64 {
			return math.Ldexp(float64(f.Factors.At(i, 0)), int(max(float64(f.Exponents.At(i, 0))-top, -5000)))
		}
		fa, fb := scale(a), scale(b)
		total := fa*float64(a.Denominators.At(i, 0)) + fb*float64(b.Denominators.At(i, 0))
		for j := range out.Cols {
			out.Set(i, j, (fa*float64(a.Numerators.At(i, j))+fb*float64(b.Numerators.At(i, j)))/total)
		}
	}
	return out
}

// Fractions of two sets of features far out, where a float32 holds the scale of a row to less than
// a factor: averages of values, and in float64 those of all features together.
func TestFractionsFar(t *testing.T) {
	densetest.Both(t, testFractionsFar[float32], testFractionsFar[float64])
}

func testFractionsFar[T dense.Float](t *testing.T) {
	const n, d, m = 70, 64, 8
	rng := rand.New(densetest.Source(75))
	w := must.Have(orf.Draw[T](orf.IID{}, 2*m, d, densetest.Source(76))).Frequencies()
	positive := func(w dense.Matrix[T]) rff.Map[T] {
		return must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1.0 / 8}, must.Have(orf.FromMatrix(w))))
	}
	for _, norm := range []float64{1e5, 1e10, of[T](1e19, 1e100)} {
		q, k, v := densetest.Sphere[T](rng, n, d, norm), densetest.Sphere[T](rng, n, d, norm), densetest.Normal[T](rng, n, 3, 0, 1)
		for _, causal := range []bool{false, true} {
			opts := performer.LinearOptions{Causal: causal}
			one := attention[T](positive(w.RowRange(0, m)), opts).Fractions(linear.Fractions[T]{}, q, k, v)
			got := quotients(one, attention[T](positive(w.RowRange(m, 2*m)), opts).Fractions(linear.Fractions[T]{}, q, k, v))
			requireAverages(t, got, dense.Copy(dense.Matrix[float64]{}, v), "norm %v, causal %v", norm, causal)
			if densetest.Roundoff[T]() < 0x1p-50 && norm < 1e6 {
				want, tol := truthOf(attention[T](positive(w), performer.LinearOptions{Causal: causal}), q, k).attend(dense.Copy(dense.Matrix[float64]{}, v))
				for i := range tol.Data {
					tol.Data[i] += 1e-6 // scales of e^(10⁹) are known to 2⁻²³
				}
				densetest.RequireClose(t, want, tol, got, "norm %v, causal %v", norm, causal)
			}
		}
	}
}
