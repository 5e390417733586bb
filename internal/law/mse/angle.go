package mse

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
	"github.com/seed-feabd252/randfeat/orf"
)

// AngularIID is the law of the features sign(wᵀx)/√m of the angular kernel 1 − 2θ/π: MSE =
// 4u(1−u)/m. The lengths of rows do not matter. The zero vector has no error, because sign(0) = 0.
func AngularIID(x, y []float64, m int) float64 {
	return angular(x, y, m, func(_ int, u float64) float64 { return 4 * u * (1 - u) / float64(m) })
}

// AngularORF is AngularIID for orthogonal rows, with the covariance 4(P₁₂ − u²) of two rows of a
// block. P₁₂ is the probability that both rows separate x from y: for d ≥ 3
//
//	P₁₂ = 2(d−2)/(π²(d−1))·∫₀^θ (θ−δ)·₂F₁(1, 1; (d+1)/2; sin²δ) dδ,
//
// with an error below 1e-12, and for d = 2 it is max(0, 2u − 1).
func AngularORF(x, y []float64, m int) float64 {
	return angular(x, y, m, func(d int, u float64) float64 {
		return blocks(m, d, 4*u*(1-u), 4*(codelaw.BothSeparate(d, u*math.Pi)-u*u))
	})
}

// angular returns law(d, u) for a law that depends on the angle alone.
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

// StepIID is the law of the features √(2/m)·Θ(wᵀx) of the arc-cosine kernel k = 1 − u of order 0:
// MSE = k(2 − k)/m. It is 1/(4m) if one of the points is 0, and 0 if both are.
func StepIID(x, y []float64, m int) float64 { return step(x, y, m, 1) }

// StepORF is StepIID for orthogonal rows, with the covariance P₁₂ − u² of two rows of a block.
func StepORF(x, y []float64, m int) float64 { return step(x, y, m, len(x)) }

// step is the law of rows in blocks of the given size.
func step(x, y []float64, m, block int) float64 {
	z := newPair(x, y, m)
	switch {
	case math.IsNaN(z.p):
		return z.p
	case isZero(x) && isZero(y):
		return 0
	case isZero(x) || isZero(y):
		return 1 / (4 * float64(m))
	}
	k := supplement(x, y) / math.Pi
	if block == 1 {
		return k * (2 - k) / float64(m)
	}
	u := 1 - k
	return blocks(m, block, k*(2-k), codelaw.BothSeparate(block, angle(x, y))-u*u)
}

// ArcCosineIID is the law of the features √(2/m)·max(wᵀx, 0) of the arc-cosine kernel of order 1.
func ArcCosineIID(x, y []float64, m int) float64 { return ramps(1)(x, y, m) }

// ramps is the law over independent rows of the features √(2/m)·max(wᵀx, 0)ⁿ of order n = 1 or 2:
// the second moment of a term is twice the kernel of order 2n [Cho & Saul 2009], so that
//
//	MSE = (2‖x‖^(2n)‖y‖^(2n)·J_2n/π − k²)/m,  J₄ = (9 + 72c² + 24c⁴)(π−θ) + (55 + 50c²)c·sin θ
//
// with c = cos θ.
func ramps(order int) Error {
	return func(x, y []float64, m int) float64 {
		return homogeneous(x, y, m, 2*order, func(z pair) float64 {
			k, square := rampMoments(order, x, y)
			size := math.Pow(z.xx*z.yy, float64(order))
			return size * (square - k*k) / float64(m)
		})
	}
}

// rampMoments returns the mean and the second moment of a term at unit vectors in the directions of
// x and y.
func rampMoments(order int, x, y []float64) (mean, square float64) {
	psi := supplement(x, y)
	first, second := arcCosine(psi)
	if order == 1 {
		return first / math.Pi, 2 * second / math.Pi
	}
	return second / math.Pi, 2 * arcCosine4(psi) / math.Pi
}

// OfArcCosine is the law of ArcCosine of order 0, 1 or 2.
func OfArcCosine(order int) Law {
	return lawOf("ArcCosine", 1, func(e orf.Ensemble) (closed, bool) {
		c := closed{source: "after Cho & Saul 2009"}
		switch {
		case order == 0:
			// Signs do not depend on lengths.
			switch e.(type) {
			case orf.IID:
				c.mse = StepIID
			case orf.GramSchmidt:
				c.mse, c.source = StepORF, derived
			}
			return c, c.mse != nil
		case e == orf.IID{}:
			c.mse = ramps(order)
		}
		return c, c.mse != nil
	})
}

// arcCosine4 returns J₄ = ψ(9 + 72cos²ψ + 24cos⁴ψ) − (55 + 50cos²ψ)·sin ψ·cos ψ for ψ = π − θ,
// which is ψ(54 + 48cos 2ψ + 3cos 4ψ) − 40·sin 2ψ − 6.25·sin 4ψ: for small ψ the series
//
//	Σ_{i≥4} (−1)^i·((96i − 32)·4^i + (6i − 22)·16^i)·ψ^(2i+1)/(2i+1)!
//
// without the terms that are 0.
func arcCosine4(psi float64) float64 {
	if psi >= 1.5 {
		sin, cos := math.Sincos(psi)
		c := cos * cos
		return psi*(9+72*c+24*c*c) - sin*cos*(55+50*c)
	}
	var sum float64
	power := math.Pow(psi, 9) / 362880
	for i := 4.0; i < 30; i++ {
		sum += ((96*i-32)*math.Pow(4, i) + (6*i-22)*math.Pow(16, i)) * power
		power *= -psi * psi / ((2*i + 2) * (2*i + 3))
	}
	return sum
}

// arcCosine returns J₁ = sin ψ − ψ·cos ψ and J₂ = ψ(1 + 2cos²ψ) − 3·sin ψ·cos ψ for ψ = π − θ.
func arcCosine(psi float64) (first, second float64) {
	if psi >= 0.5 {
		sin, cos := math.Sincos(psi)
		return sin - psi*cos, psi*(1+2*cos*cos) - 3*sin*cos
	}
	// With the terms t_i and u_i of sin ψ and sin 2ψ they are −Σ 2i·t_i and Σ (i−1)·u_i without the
	// terms that cancel, i < 1 and i < 2.
	t, u := psi, 2*psi
	for i := 1.0; i < 12; i++ {
		step := -psi * psi / (2 * i * (2*i + 1))
		t, u = t*step, u*4*step
		first -= 2 * i * t
		second += (i - 1) * u
	}
	return first, second
}
