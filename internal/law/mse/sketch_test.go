package mse

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/orf"
)

// weights are a law of the coordinates of w.
type weights struct{ signs, complex bool }

var allWeights = []weights{{signs: true}, {}, {signs: true, complex: true}, {complex: true}}

// everyVector calls f with every vector of n of the values.
func everyVector(values []complex128, n int, f func(w []complex128)) {
	w := make([]complex128, n)
	total := int(math.Pow(float64(len(values)), float64(n)))
	for code := range total {
		for i := range w {
			w[i] = values[code%len(values)]
			code /= len(values)
		}
		f(w)
	}
}

// All weights ±1 and ±1, ±i of one feature, for degrees up to 3 in R² and 2 in R³.
func TestPolynomialByEnumeration(t *testing.T) {
	laws := map[weights][]complex128{{signs: true}: {1, -1}, {signs: true, complex: true}: {1, -1, 1i, -1i}}
	for w, values := range laws {
		for _, c := range []struct{ d, p int }{{1, 1}, {1, 3}, {2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {4, 1}} {
			x, y := enumerated[c.d][0], enumerated[c.d][1]
			truth := math.Pow(floats.Dot(x, y), float64(c.p))
			var mse, mean, count float64
			everyVector(values, c.d*c.p, func(v []complex128) {
				z := complex(1, 0)
				for t := range c.p {
					var a, b complex128
					for i := range x {
						a += v[t*c.d+i] * complex(x[i], 0)
						b += v[t*c.d+i] * complex(y[i], 0)
					}
					z *= a * cmplx.Conj(b)
				}
				mse += (real(z) - truth) * (real(z) - truth)
				mean += real(z)
				count++
			})
			m := 1
			if w.complex {
				m = 2
			}
			assert.InDelta(t, truth, mean/count, 1e-12*(1+math.Abs(truth)), "mean, law %+v %+v", w, c)
			assert.InDelta(t, mse/count, Polynomial(c.p, w.signs, w.complex)(x, y, m), 1e-12*(1+mse/count), "law %+v %+v", w, c)
		}
	}
}

// All buckets and signs, in R² for up to 4 buckets and degree 2 and in R³ for up to 3 and degree 1.
func TestTensorSketchByEnumeration(t *testing.T) {
	for _, c := range []struct{ d, p, m int }{
		{1, 1, 3}, {2, 1, 1}, {2, 1, 2}, {2, 1, 5}, {3, 1, 3}, {2, 2, 1}, {2, 2, 2}, {2, 2, 3}, {2, 2, 4}, {2, 3, 2},
	} {
		x, y := enumerated[c.d][0], enumerated[c.d][1]
		truth := math.Pow(floats.Dot(x, y), float64(c.p))
		// A value is a bucket with a sign, here the number ±(bucket + 1).
		var values []complex128
		for h := range c.m {
			values = append(values, complex(float64(h+1), 0), complex(-float64(h+1), 0))
		}
		sketch := func(v []complex128, x []float64) []float64 {
			convolved := make([]float64, c.m)
			convolved[0] = 1
			for t := range c.p {
				next := make([]float64, c.m)
				for i, u := range x {
					h := int(math.Abs(real(v[t*c.d+i]))) - 1
					for at, w := range convolved {
						next[(at+h)%c.m] += w * math.Copysign(1, real(v[t*c.d+i])) * u
					}
				}
				convolved = next
			}
			return convolved
		}
		var mse, count float64
		everyVector(values, c.d*c.p, func(v []complex128) {
			e := floats.Dot(sketch(v, x), sketch(v, y)) - truth
			mse += e * e
			count++
		})
		assert.InDelta(t, mse/count, TensorSketch(c.p)(x, y, c.m), 1e-12*(1+mse/count), "%+v", c)
	}
}

// A feature of one degree only is that of the polynomial, and laws of degree 1 are
// those of the dot product.
func TestMaclaurinOfOneDegree(t *testing.T) {
	x, y := enumerated[3][0], enumerated[3][1]
	for _, w := range allWeights {
		for p := range 5 {
			a, q := make([]float64, p+1), make([]float64, p+1)
			a[p], q[p] = 2, 1
			assert.InEpsilon(t, 1+4*Polynomial(p, w.signs, w.complex)(x, y, 6), 1+Maclaurin(a, q, w.signs, w.complex)(x, y, 6), 1e-13)
		}
		assert.InDelta(t, 0, Polynomial(0, w.signs, w.complex)(x, y, 2), 0, "a constant")
	}
	assert.InEpsilon(t, DotProduct(orf.IID{})(x, y, 6), Polynomial(1, false, false)(x, y, 6), 1e-14)
	assert.InEpsilon(t, DotProduct(orf.IID{})(x, y, 6), Polynomial(1, false, true)(x, y, 6), 1e-14)
}

func TestSketchLawsPanic(t *testing.T) {
	x := []float64{1}
	assert.PanicsWithValue(t, "mse: p = -1, want at least 0", func() { Polynomial(-1, false, false) })
	assert.PanicsWithValue(t, "mse: p = 0, want at least 1", func() { TensorSketch(0) })
	assert.PanicsWithValue(t, "mse: m = 3, want an even number of complex features", func() { Polynomial(1, false, true)(x, x, 3) })
}
