package laws

import (
	"fmt"
	"math"
)

// SoftmaxHybridIID is the law of the estimate λS₁ + (1−λ)S₂ of the softmax kernel, where
// S₁ is that of SoftmaxHyperbolicIID and S₂ that of SoftmaxTrigIID, with the same m rows
// w, and λ = ½ − Σ_j sign(τ_jᵀx)·sign(τ_jᵀy)/(2n) for n rows τ ~ N(0, I) that are
// independent of them. With ℓ = u, and V₁ and V₂ the errors of S₁ and S₂ for one row,
//
//	MSE = ((ℓ² + ℓ(1−ℓ)/n)·V₁ + ((1−ℓ)² + ℓ(1−ℓ)/n)·V₂ + 2ℓ(1−ℓ)(1−1/n)·C)/m,
//	C = −S²·(1 − cos(‖x‖² − ‖y‖²))
//
// [Choromanski et al. 2022]: λ is 1/n times a binomial variable of mean nℓ, and C is the
// covariance of cosh(wᵀ(x+y)) and cos(wᵀ(x−y)) with their factors, by the real part of
// E[exp(wᵀ((x+y) + i(x−y)))]. The zero vector gives NaN. It panics if n < 1.
func SoftmaxHybridIID(n int) func(x, y []float64, m int) float64 {
	if n < 1 {
		panic(fmt.Sprintf("laws: n = %d, want at least 1", n))
	}
	return func(x, y []float64, m int) float64 {
		z := newPair(x, y, m)
		u := angle(x, y) / math.Pi
		spread := u * (1 - u)
		sin := math.Sin((z.xx - z.yy) / 2)
		c := -2 * sin * sin * math.Exp(2*z.s)
		gates := float64(n)
		return (u*u+spread/gates)*SoftmaxHyperbolicIID(x, y, m) +
			((1-u)*(1-u)+spread/gates)*SoftmaxTrigIID(x, y, m) +
			2*spread*(1-1/gates)*c/float64(m)
	}
}
