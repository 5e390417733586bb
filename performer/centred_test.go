package performer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// With means of norm 100 and points of norm up to 30 around them, outputs of centred features are
// averages: exactly 1 for values of 1, in one call, causal and as a stream. Near their means the
// outputs are those of points around zero with other weights of keys, to rounding of the
// logarithms.
func testCentredAttention[T dense.Float](t *testing.T) {
	const d, m, n = 16, 64, 150
	none := dense.Matrix[T]{}
	b, c := make([]T, d), make([]T, d)
	b[0], c[0], c[1] = 100, -60, 80
	phi := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 0.25}, maptest.Frequencies[T](m, d)))
	wideB, wideC := wide(dense.Of(1, d, b)).Data, wide(dense.Of(1, d, c)).Data
	truth := attention(must.Have(rff.Centred(must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 0.25}, maptest.Frequencies[float64](m, d))), wideB, wideC)), performer.LinearOptions{})
	for _, norm := range []float64{1, 30} {
		q, k := plus(densetest.Decaying[T](1, n, d, norm*norm/3), b, 1), plus(densetest.Decaying[T](2, n, d, norm*norm/3), c, 1)
		ones, v := densetest.Filled(n, 1, T(1)), densetest.Decaying[T](3, n, 3, 1)
		for _, causal := range []bool{false, true} {
			a := attention(must.Have(rff.Centred(phi, b, c)), performer.LinearOptions{Causal: causal})
			for _, x := range a.Forward(none, q, k, ones).Data {
				require.Equal(t, T(1), x, "norm %g, causal %v", norm, causal)
			}
			if causal {
				for _, x := range must.Have(a.NewState(d, 1)).Step(none, q, k, ones).Data {
					require.Equal(t, T(1), x, "norm %g", norm)
				}
			} else if norm == 1 {
				// A logarithm is below 0.25·100·110, of which it has a rounding error.
				got := a.Forward(none, q, k, v)
				assert.Less(t, offBy(got, truth.Forward(dense.Matrix[float64]{}, wide(q), wide(k), wide(v))), 4*2750*densetest.Roundoff[T]())
			}
		}
	}
}

func TestCentredAttention(t *testing.T) {
	densetest.Both(t, testCentredAttention[float32], testCentredAttention[float64])
}

func wide[T dense.Float](m dense.Matrix[T]) dense.Matrix[float64] {
	return dense.Copy(dense.Matrix[float64]{}, m)
}

// plus returns the rows of x + by·v.
func plus[T dense.Float](x dense.Matrix[T], v []T, by T) dense.Matrix[T] {
	y := x.Clone()
	for i := range y.Rows {
		for j := range v {
			y.Row(i)[j] += by * v[j]
		}
	}
	return y
}
