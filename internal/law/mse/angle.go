package mse

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

// AngularIID is the law of the features sign(wᵀx)/√m of the angular kernel 1 − 2θ/π: MSE =
// 4u(1−u)/m. The zero vector has no error, because sign(0) = 0.
func AngularIID(x, y []float64, m int) float64 {
	return angular(x, y, m, func(_ int, u float64) float64 { return 4 * u * (1 - u) / float64(m) })
}

// AngularORF is AngularIID for orthogonal rows, with the covariance 4(P₁₂ − u²) of two rows of a
// block, where P₁₂ is the probability codelaw.BothSeparate that both rows separate x from y.
func AngularORF(x, y []float64, m int) float64 {
	return angular(x, y, m, func(d int, u float64) float64 {
		return blocks(m, d, 4*u*(1-u), 4*(codelaw.BothSeparate(d, u*math.Pi)-u*u))
	})
}

func angular(x, y []float64, m int, law func(d int, u float64) float64) float64 {
	z := newPair(x, y, m)
	switch {
	case math.IsNaN(z.p):
		return z.p
	case isZero(x) || isZero(y):
		return 0
	}
	return law(z.d, angle(x, y)/math.Pi)
}

// ArcCosineIID is the law of the features √(2/m)·max(wᵀx, 0) of the arc-cosine kernel k of order 1:
// the second moment of a term is twice the kernel of order 2 [Cho & Saul 2009], so that
//
//	MSE = (2‖x‖²‖y‖²·J₂/π − k²)/m.
func ArcCosineIID(x, y []float64, m int) float64 {
	return homogeneous(x, y, m, 2, func(z pair) float64 {
		first, second := arcCosine(supplement(x, y))
		k := first / math.Pi
		return z.xx * z.yy * (2*second/math.Pi - k*k) / float64(m)
	})
}

// arcCosine returns J₁ = sin ψ − ψ·cos ψ and J₂ = ψ(1 + 2cos²ψ) − 3·sin ψ·cos ψ for ψ = π − θ.
func arcCosine(psi float64) (first, second float64) {
	if psi >= 0.5 {
		sin, cos := math.Sincos(psi)
		return sin - psi*cos, psi*(1+2*cos*cos) - 3*sin*cos
	}
	// With the terms t_i, u_i of sin ψ, sin 2ψ they are −Σ_{i≥1} 2i·t_i and Σ_{i≥2} (i−1)·u_i.
	t, u := psi, 2*psi
	for i := 1.0; i < 12; i++ {
		step := -psi * psi / (2 * i * (2*i + 1))
		t, u = t*step, u*4*step
		first -= 2 * i * t
		second += (i - 1) * u
	}
	return first, second
}
