package mse

import (
	"fmt"
	"math"
	"slices"
)

// Polynomial is the law of the features Π_{t≤p} w_jtᵀx/√m of (xᵀy)^p for real w, and of the real
// and imaginary parts of m/2 features √(2/m)·Π_{t≤p} w_jtᵀx for complex w,
//
//	MSE = (M_p − s^(2p))/m,  or  2(M_p − s^(2p))/m for complex w,
//
// with M_p as in Maclaurin. It panics if p < 0, and its law panics for complex w and an odd m.
func Polynomial(p int, signs, complex bool) Error {
	if p < 0 {
		panic(fmt.Sprintf("mse: p = %d, want at least 0", p))
	}
	one := make([]float64, p+1)
	one[p] = 1
	return Maclaurin(one, one, signs, complex)
}

// Maclaurin is the law of the features √(a_n/(p_n·m))·Π_{t≤n} w_jtᵀx of Σ a_n·sⁿ, where n has the
// probability p_n, which is probabilities[n],
//
//	MSE = (Σ a_n²/p_n·M_n − k²)/m,  or twice that for complex w,
//
// [Kar & Karnick 2012] with the second moment M_n of a product of n factors. For real w it is
// E[(wᵀx)²(wᵀy)²]ⁿ. For complex w the estimate is the real part of Z = Π (wᵀx)·conj(wᵀy), and the
// moment is (E|Z|² + E[Z²])/2. With P = ‖x‖²‖y‖² and Q = Σ x_i²y_i²:
//
//	±1                  (P + 2s² − 2Q)ⁿ
//	N(0, 1)             (P + 2s²)ⁿ
//	1, −1, i or −i      ((P + s² − Q)ⁿ + (2s² − Q)ⁿ)/2
//	complex normal      ((P + s²)ⁿ + (2s²)ⁿ)/2
//
// The moments of one factor are sums over the ways of pairing four coordinates that have a mean,
// which is w_i·w̄_i in the complex cases. For ±1 and ±i, four equal coordinates count once: Q is
// subtracted for each further way that counts them.
func Maclaurin(coefficients, probabilities []float64, signs, complex bool) Error {
	return func(x, y []float64, m int) float64 {
		if z := newPair(x, y, m); math.IsNaN(z.p) {
			return math.NaN()
		}
		x, i := unit(x)
		y, j := unit(y)
		z := newPair(x, y, m)
		first, other := z.factor(signs, complex)
		// With r² = M₁, a term is a_n·rⁿ times a number within ±1. Its power of two is factored out
		// of the sums.
		r := math.Sqrt(math.Max(first, 0))
		var cosine, ratio float64 // s/r and the ratio of the two moments of a complex factor
		if r > 0 {
			cosine, ratio = z.s/r, other/first
		}
		sizes, powers := make([]float64, len(coefficients)), make([]int, len(coefficients))
		power, most := 0, math.MinInt
		for n, size := 0, 1.0; n < len(coefficients); n++ {
			v, k := math.Frexp(size * coefficients[n])
			sizes[n], powers[n] = v, k+power
			if v > 0 {
				most = max(most, powers[n])
			}
			size, k = math.Frexp(size * r)
			power += k + i + j
		}
		var second, mean float64
		for n, size := range sizes {
			if size == 0 {
				continue
			}
			size = math.Ldexp(size, powers[n]-most)
			moment := 1.0
			if complex {
				moment = (1 + math.Pow(ratio, float64(n))) / 2
			}
			second += size * size / probabilities[n] * moment
			mean += size * math.Pow(cosine, float64(n))
		}
		return math.Ldexp(math.Max(second-mean*mean, 0)/terms(m, complex), 2*most)
	}
}

// terms returns the number of independent terms of m real features.
func terms(m int, complex bool) float64 {
	if !complex {
		return float64(m)
	}
	if m%2 != 0 {
		panic(fmt.Sprintf("mse: m = %d, want an even number of complex features", m))
	}
	return float64(m / 2)
}

// factor returns M₁ for real w. For complex w it returns the two moments P + s² − Q and 2s² − Q, or
// the same without Q; M_n is the mean of their n-th powers. first is the larger one.
func (z pair) factor(signs, complex bool) (first, other float64) {
	var q float64
	if signs {
		q = z.squares()
	}
	s2, p := z.s*z.s, z.xx*z.yy
	if complex {
		return p + s2 - q, 2*s2 - q
	}
	return p + 2*s2 - 2*q, 0
}

// Lifted returns the error of an estimate of (γ·xᵀy + c)^p from the error mse of the estimate of
// (xᵀy)^p: it is mse at the points [√γ·x, √c].
func Lifted(gamma, offset float64, mse Error) Error {
	lift := func(x []float64) []float64 { return append(slices.Clone(times(gamma, x)), math.Sqrt(offset)) }
	return func(x, y []float64, m int) float64 { return mse(lift(x), lift(y), m) }
}

// TensorSketch is the law of the convolution of degree p of count sketches with m buckets, for
// (xᵀy)^p: with Q = Σ x_i²y_i², b = ‖x‖²‖y‖² − Q, c = s² − Q, and g = 2 for even m, 1 for odd m,
//
//	MSE = ((s²+b)^p + (s²+c)^p − 2s^(2p))/m + g·((s²+b+c)^p − (s²+b)^p − (s²+c)^p + s^(2p))/m².
//
// The square of the estimate is a sum over multi-indices I, J, K, L of x_I·y_J·x_K·y_L, where I, J
// share a bucket and K, L share a bucket. The signs leave three kinds of terms in each of the p
// places: i=j, k=l, with the sum s²; i=k≠j=l, with the sum b; and i=l≠j=k, with the sum c. The
// differences of buckets h(I)−h(J) and h(K)−h(L) are 0 if all places are of the first kind. They
// are uniform and equal if the other places are of the second kind only, and uniform and opposite
// if the other places are of the third kind only. With both kinds they are u+v and u−v for uniform
// u, v, and both are 0 with the probability g/m². TensorSketch panics if p < 1.
func TensorSketch(p int) Error {
	if p < 1 {
		panic(fmt.Sprintf("mse: p = %d, want at least 1", p))
	}
	return func(x, y []float64, m int) float64 {
		return homogeneous(x, y, m, 2*p, func(z pair) float64 {
			q := z.squares()
			s2 := z.s * z.s
			b, c := z.xx*z.yy-q, s2-q
			n, g := float64(m), float64(2-m%2)
			power := func(v float64) float64 { return math.Pow(v, float64(p)) }
			return (power(s2+b)+power(s2+c)-2*power(s2))/n +
				g*(power(s2+b+c)-power(s2+b)-power(s2+c)+power(s2))/(n*n)
		})
	}
}

// ReLUIID is the law of the features max(wᵀx, 0)/√m of half the arc-cosine kernel of order 1: a
// quarter of ArcCosineIID.
func ReLUIID(x, y []float64, m int) float64 { return ArcCosineIID(x, y, m) / 4 }

// SquareIID is the law of the features (wᵀx)²/√m of the kernel P + 2s² for P = ‖x‖²‖y‖²,
//
//	MSE = (9P² + 72P·s² + 24s⁴ − (P + 2s²)²)/m,
//
// by Wick's theorem for E[(wᵀx)⁴(wᵀy)⁴]: of the 105 pairings of eight factors 9 have no mixed pair,
// 72 two and 24 four.
func SquareIID(x, y []float64, m int) float64 {
	return homogeneous(x, y, m, 4, func(z pair) float64 {
		p, s2 := z.xx*z.yy, z.s*z.s
		return (9*p*p + 72*p*s2 + 24*s2*s2 - z.fourth()*z.fourth()) / float64(m)
	})
}

// ExponentialIID is the law of the features exp(wᵀx)/√m of the kernel e^(p/2),
//
//	MSE = (e^(2p) − e^p)/m.
func ExponentialIID(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return math.Exp(z.p) * math.Expm1(z.p) / float64(m)
}

// SkewedChiSquareIID is the law of the features √(2/m)·cos(wᵀlog(x+c) + b) of the skewed χ² kernel
// k, with k₂ its value at twice the difference of the logarithms,
//
//	MSE = (1 + k₂/2 − k²)/m,
//
// as for all stationary kernels and uniform phases b. Coordinates at or below −c give NaN.
func SkewedChiSquareIID(c float64) Error {
	return func(x, y []float64, m int) float64 {
		if z := newPair(x, y, m); math.IsNaN(z.p) {
			return math.NaN()
		}
		k, k2 := 1.0, 1.0
		for i, v := range x {
			r := math.Log((v + c) / (y[i] + c))
			k /= math.Cosh(r / 2)
			k2 /= math.Cosh(r)
		}
		return (1 + k2/2 - k*k) / float64(m)
	}
}
