package mse

import (
	"fmt"
	"math"
)

// Hybrid is the law over independent rows of the estimate λS₁ + (1−λ)S₂ of the softmax kernel,
// where S₁ is the estimate of Hyperbolic and S₂ the estimate of Trig, both with the same m rows w,
// and λ = ½ − Σ_j sign(τ_jᵀx)·sign(τ_jᵀy)/(2n) for n rows τ ~ N(0, I) that are independent of w.
// With ℓ = u, and the errors V₁ and V₂ of S₁ and S₂ for one row,
//
//	MSE = ((ℓ² + ℓ(1−ℓ)/n)·V₁ + ((1−ℓ)² + ℓ(1−ℓ)/n)·V₂ + 2ℓ(1−ℓ)(1−1/n)·C)/m,
//	C = −S²·(1 − cos(‖x‖² − ‖y‖²))
//
// [Choromanski et al. 2022]: λ is 1/n times a binomial variable of mean nℓ, and C is the covariance
// of cosh(wᵀ(x+y)) and cos(wᵀ(x−y)) with their factors, by the real part of E[exp(wᵀ((x+y) +
// i(x−y)))]. The zero vector has λ = ½ by sign(0) = 0, which is ℓ = ½ with n = ∞. It panics if n <
// 1.
func Hybrid(n int) Exponential {
	if n < 1 {
		panic(fmt.Sprintf("mse: n = %d, want at least 1", n))
	}
	return ofIID(func(z pair) product {
		u := angle(z.x, z.y) / math.Pi
		noise := u * (1 - u) / float64(n) // the variance of λ
		if isZero(z.x) || isZero(z.y) {
			noise = 0
		}
		// With S² = 1, V₁, V₂ and C are e^p·v1, e^q·v2 and c. The larger of e^p and e^q is factored
		// out of the sum.
		near, apart := math.Expm1(-z.p), math.Expm1(-z.q)
		v1, v2, c := near*near/2, apart*apart/2, 0.0
		e := product{norms: 1, dot: 2}
		if z.s < 0 {
			e.dot = -2
			v1 *= math.Exp(4 * z.s)
		} else {
			v2 *= math.Exp(-4 * z.s)
		}
		if weight := math.Exp(-math.Max(z.p, z.q)); weight > 0 {
			sin := math.Sin((z.xx - z.yy) / 2)
			c = -2 * sin * sin * weight
		}
		e.v = (u*u+noise)*v1 + ((1-u)*(1-u)+noise)*v2 + 2*(u*(1-u)-noise)*c
		return e
	})
}
