package mse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/seed-feabd252/randfeat/orf"
)

// design returns points of the unit sphere over which polynomials of degree up to
// 5 have the mean that they have over the sphere: a hexagon, and the 24
// corners of a 24-cell.
func design(d int) [][]float64 {
	var points [][]float64
	if d == 2 {
		for k := range 6 {
			sin, cos := math.Sincos(float64(k) * math.Pi / 3)
			points = append(points, []float64{cos, sin})
		}
		return points
	}
	for i := range 4 {
		for j := range i {
			for signs := range 4 {
				p := make([]float64, 4)
				p[i], p[j] = math.Sqrt(0.5)*float64(1-signs&2), math.Sqrt(0.5)*float64(1-signs&1*2)
				points = append(points, p)
			}
		}
	}
	return points
}

// Every sign, every permutation and enough directions of G for the fourth moments,
// in R², R⁴ and for a point of R³ padded to R⁴.
func TestDotProductFastfoodByEnumeration(t *testing.T) {
	for d, xy := range enumerated {
		if d == 1 {
			continue
		}
		order := d + d%2
		x, y := make([]float64, order), make([]float64, order)
		copy(x, xy[0])
		copy(y, xy[1])
		s := floats.Dot(x, y)
		want, count := make([]float64, order+1), 0.0
		for signs := range uint(1) << order {
			// hd divides by the root of the order.
			u, v := hd(x, signs, 1), hd(y, signs, 1)
			for _, to := range combin.Permutations(order, order) {
				for _, g := range design(order) {
					a, b := make([]float64, order), make([]float64, order)
					for i, j := range to {
						a[i], b[i] = g[i]*u[j], g[i]*v[j]
					}
					terms := products(hd(a, 0, 1), hd(b, 0, 1))
					count++
					for m := 1; m <= order; m++ {
						// hd divides by √order where the operator does not.
						e := float64(order)*floats.Sum(terms[:m])/float64(m) - s
						want[m] += e * e
					}
				}
			}
		}
		for m := 1; m <= order; m++ {
			assert.InDelta(t, want[m]/count, DotProduct(orf.Fastfood{FixedLength: true})(xy[0], xy[1], m), 1e-12, "d=%d m=%d", d, m)
		}
		// One row is N(0, I), and blocks are independent.
		assert.InDelta(t, DotProduct(orf.IID{})(xy[0], xy[1], 1), DotProduct(orf.Fastfood{})(xy[0], xy[1], 1), 1e-12, "d=%d", d)
		assert.InDelta(t, DotProduct(orf.Fastfood{})(xy[0], xy[1], order)/3, DotProduct(orf.Fastfood{})(xy[0], xy[1], 3*order), 1e-12, "d=%d", d)
	}
	assert.Equal(t, DotProduct(orf.IID{})([]float64{2}, []float64{3}, 5), DotProduct(orf.Fastfood{})([]float64{2}, []float64{3}, 5), "R¹")
}
