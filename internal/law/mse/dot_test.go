package mse

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/orf"
)

// meanOfSubsets returns the mean over all m-subsets of the d terms of the squared
// error of their mean against s: what drawing without replacement gives.
func meanOfSubsets(terms []float64, m int, s float64) float64 {
	var sum, count float64
	for set := range uint(1) << len(terms) {
		if bits.OnesCount(set) != m {
			continue
		}
		var mean float64
		for i, v := range terms {
			if set>>i&1 == 1 {
				mean += v / float64(m)
			}
		}
		sum += (mean - s) * (mean - s)
		count++
	}
	return sum / count
}

// products returns d·u_i·v_i.
func products(u, v []float64) []float64 {
	t := make([]float64, len(u))
	for i := range t {
		t[i] = float64(len(u)) * u[i] * v[i]
	}
	return t
}

var enumerated = map[int][2][]float64{
	1: {{0.7}, {-1.3}},
	2: {{1, 0.5}, {-0.3, 2}},
	3: {{1, 0.5, 0.1}, {-0.3, 2, 0.6}},
	4: {{1, 0.5, -0.2, 0.9}, {0.3, 2, 0.1, 0}},
}

// Every sign matrix of every factor and every choice of rows, for d up to 4 and k
// up to 3, and a point of R³ padded to R⁴.
func TestDotProductHadamardByEnumeration(t *testing.T) {
	for d, xy := range enumerated {
		for k := 1; k <= 3; k++ {
			order := 1 << bits.Len(uint(d-1))
			x, y := make([]float64, order), make([]float64, order)
			copy(x, xy[0])
			copy(y, xy[1])
			s := floats.Dot(x, y)
			want := make([]float64, order+1)
			total := uint(1) << (k * order)
			for signs := range total {
				u, v := hd(x, signs, k), hd(y, signs, k)
				for m := 1; m <= order; m++ {
					want[m] += meanOfSubsets(products(u, v), m, s) / float64(total)
				}
			}
			for m := 1; m <= order; m++ {
				assert.InDelta(t, want[m], DotProduct(orf.Hadamard{Factors: k, FixedLength: true})(xy[0], xy[1], m), 1e-12, "d=%d k=%d m=%d", d, k, m)
			}
		}
	}
}

// hd applies k factors (1/√n)·H·D to x, with the signs of D from bits of signs.
func hd(x []float64, signs uint, k int) []float64 {
	n := len(x)
	for range k {
		y := make([]float64, n)
		for i := range y {
			for j, v := range x {
				if (bits.OnesCount(uint(i&j))+int(signs>>j))&1 == 1 {
					v = -v
				}
				y[i] += v / math.Sqrt(float64(n))
			}
		}
		x, signs = y, signs>>n
	}
	return x
}

// Every sequence of planes, with 8 angles a rotation: the error is a
// trigonometric polynomial of degree 4 in each angle, of which 8 equidistant
// values have the exact mean.
func TestDotProductGivensByEnumeration(t *testing.T) {
	for d, xy := range enumerated {
		for n := 0; n <= 2 && (n == 0 || d > 1); n++ {
			s := floats.Dot(xy[0], xy[1])
			want, count := make([]float64, d+1), 0.0
			var turn func(x, y []float64, left int)
			turn = func(x, y []float64, left int) {
				if left == 0 {
					count++
					for m := 1; m <= d; m++ {
						want[m] += meanOfSubsets(products(x, y), m, s)
					}
					return
				}
				for i := range d {
					for j := range i {
						for a := range 8 {
							turn(givens(x, i, j, a), givens(y, i, j, a), left-1)
						}
					}
				}
			}
			turn(xy[0], xy[1], n)
			for m := 1; m <= d; m++ {
				assert.InDelta(t, want[m]/count, DotProduct(orf.Givens{Rotations: n, FixedLength: true})(xy[0], xy[1], m), 1e-12, "d=%d n=%d m=%d", d, n, m)
			}
		}
	}
}

// givens returns x turned by a·45° (and a bit) in the plane of axes i and j.
func givens(x []float64, i, j, a int) []float64 {
	sin, cos := math.Sincos(0.1 + float64(a)*math.Pi/4)
	y := append([]float64(nil), x...)
	y[i], y[j] = cos*x[i]-sin*x[j], sin*x[i]+cos*x[j]
	return y
}

func TestDotProductLimits(t *testing.T) {
	x, y := enumerated[4][0], enumerated[4][1]
	for m := 1; m <= 11; m++ {
		for _, fixed := range []bool{false, true} {
			haar := DotProduct(orf.GramSchmidt{FixedLength: fixed})(x, y, m)
			assert.InDelta(t, haar, DotProduct(orf.Givens{Rotations: 400, FixedLength: fixed})(x, y, m), 1e-14, "m=%d", m)
			// T_k has the fixed point of T = P − (2/d)T, which is dP/(d+2).
			assert.InDelta(t, haar, DotProduct(orf.Hadamard{Factors: 60, FixedLength: fixed})(x, y, m), 1e-14, "m=%d", m)
		}
	}
	assert.InDelta(t, 0, DotProduct(orf.GramSchmidt{FixedLength: true})(x, y, 4), 1e-15, "a whole block of fixed lengths is exact")
}

// The published form of the law for one block, and the stacking of blocks.
func TestDotProductORF(t *testing.T) {
	x, y := enumerated[4][0], enumerated[4][1]
	s, xx, yy := floats.Dot(x, y), floats.Dot(x, x), floats.Dot(y, y)
	const d = 4.0
	one := func(m int) float64 {
		n := float64(m)
		return DotProduct(orf.IID{})(x, y, m) - (n-1)/n*((d-2)*s*s+d*xx*yy)/((d-1)*(d+2))
	}
	for m := 1; m <= 4; m++ {
		assert.InDelta(t, one(m), DotProduct(orf.GramSchmidt{})(x, y, m), 1e-14, "m=%d", m)
	}
	assert.InDelta(t, one(4)/3, DotProduct(orf.GramSchmidt{})(x, y, 12), 1e-14)
	// Two blocks of 4 and one of 3: the mean of 11 is theirs, weighted 4:4:3.
	assert.InDelta(t, (2*16*one(4)+9*one(3))/121, DotProduct(orf.GramSchmidt{})(x, y, 11), 1e-14)
}

func ExampleDotProduct() {
	x, y := []float64{1, 0, 0, 0}, []float64{0, 1, 0, 0}
	fmt.Printf("%.4f %.4f\n", DotProduct(orf.IID{})(x, y, 4), DotProduct(orf.GramSchmidt{})(x, y, 4))
	// Output: 0.2500 0.0833
}
