package mse

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

type Error = func(x, y []float64, m int) float64

// pair is what the laws need to know of two points of R^d. Values out of range are ±Inf. All values
// are NaN if a coordinate is NaN or infinite.
type pair struct {
	x, y   []float64
	d      int
	xx, yy float64 // ‖x‖², ‖y‖²
	s      float64 // xᵀy
	p, q   float64 // ‖x+y‖², ‖x−y‖²
}

// newPair panics unless x and y are points of the same space and m ≥ 1.
func newPair(x, y []float64, m int) pair {
	if len(x) != len(y) || len(x) == 0 {
		panic(fmt.Sprintf("mse: x has length %d, y has length %d, want the same, at least 1", len(x), len(y)))
	}
	if m < 1 {
		panic(fmt.Sprintf("mse: m = %d, want at least 1", m))
	}
	z := pair{x: x, y: y, d: len(x)}
	if !finite(x) || !finite(y) {
		none := math.NaN()
		z.xx, z.yy, z.s, z.p, z.q = none, none, none, none, none
		return z
	}
	z.xx, z.yy, z.s = floats.Dot(x, x), floats.Dot(y, y), floats.Dot(x, y)
	for i, v := range x {
		z.p += (v + y[i]) * (v + y[i])
		z.q += (v - y[i]) * (v - y[i])
	}
	if math.IsInf(z.xx+z.yy, 1) {
		// Terms of both signs may have overflowed.
		a, i := unit(x)
		b, j := unit(y)
		z.s = math.Ldexp(floats.Dot(a, b), i+j)
	}
	return z
}

// form returns a·(‖x‖² + ‖y‖²) + b·xᵀy, ±Inf beyond the range of float64.
func (z pair) form(a, b float64) float64 {
	var sum float64
	if a != 0 {
		sum = a * (z.xx + z.yy)
	}
	if b != 0 {
		sum += b * z.s
	}
	if math.IsNaN(sum) && !math.IsNaN(z.p) {
		// Both terms are infinite. Points divided by a power of two give the sign of the sum.
		n := max(exponent(z.x), exponent(z.y))
		near := newPair(scaled(z.x, -n), scaled(z.y, -n), 1)
		return math.Ldexp(a*(near.xx+near.yy)+b*near.s, 2*n)
	}
	return sum
}

// homogeneous returns law(x, y) for a law with law(αx, βy) = (αβ)^degree·law(x, y). It calls law at
// points of norm about 1, which neither overflow nor underflow. A result that rounding takes below
// 0 is 0.
func homogeneous(x, y []float64, m, degree int, law func(z pair) float64) float64 {
	if z := newPair(x, y, m); math.IsNaN(z.p) {
		return math.NaN()
	}
	a, i := unit(x)
	b, j := unit(y)
	return math.Ldexp(math.Max(law(newPair(a, b, m)), 0), degree*(i+j))
}

// unit returns x/2ⁿ with a norm in [½, 1), and n; x itself and 0 if x = 0.
func unit(x []float64) ([]float64, int) {
	n := exponent(x)
	return scaled(x, -n), n
}

// exponent returns n with ‖x‖/2ⁿ in [½, 1), 0 if x = 0.
func exponent(x []float64) int {
	var most float64
	for _, v := range x {
		most = math.Max(most, math.Abs(v))
	}
	_, n := math.Frexp(most)
	_, more := math.Frexp(floats.Norm(scaled(x, -n), 2))
	return n + more
}

func scaled(x []float64, n int) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Ldexp(v, n)
	}
	return y
}

func finite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v - v) })
}

// angle returns θ = 2·atan2(‖a−b‖, ‖a+b‖) for the directions a and b of x and y, and π/2, as
// package kernels does, if one of them is 0.
func angle(x, y []float64) float64 {
	plus, minus := directions(x, y)
	return 2 * math.Atan2(minus, plus)
}

func supplement(x, y []float64) float64 {
	plus, minus := directions(x, y)
	return 2 * math.Atan2(plus, minus)
}

// directions returns 1 and 1 if x or y is 0.
func directions(x, y []float64) (plus, minus float64) {
	if isZero(x) || isZero(y) {
		return 1, 1
	}
	x, _ = unit(x)
	y, _ = unit(y)
	nx, ny := floats.Norm(x, 2), floats.Norm(y, 2)
	for i, v := range x {
		a, b := v/nx, y[i]/ny
		plus += (a + b) * (a + b)
		minus += (a - b) * (a - b)
	}
	return math.Sqrt(plus), math.Sqrt(minus)
}

func isZero(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != 0 })
}
