package mse

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/orf"
)

// DotProduct returns the law of the features wᵀx/√m of the dot product over frequencies of the
// ensemble e, and nil if no law is known. Factors of orf.Hadamard and Rotations of orf.Givens must
// be given. With P = ‖x‖²‖y‖² + 2s², independent rows have MSE = (P − s²)/m, or (T − s²)/m of fixed
// length, with T = dP/(d+2), and orthogonal rows, for m ≤ d, (1/m)·((d−m)/(d−1))·(T − s²), and
// 2T/(dm) more with lengths from χ(d) [Choromanski et al. 2017]. The other ensembles have the law
// of orthogonal rows with another T. The law panics if Factors is below 1 and if Rotations is below
// 0.
func DotProduct(e orf.Ensemble) Error {
	var law func(z pair, m int) float64
	switch e := e.(type) {
	case orf.IID:
		law = func(z pair, m int) float64 { return (z.s*z.s + z.xx*z.yy) / float64(m) }
		if e.FixedLength {
			law = func(z pair, m int) float64 { return (z.haar(z.d) - z.s*z.s) / float64(m) }
		}
	case orf.GramSchmidt:
		law = func(z pair, m int) float64 { return z.withoutReplacement(m, z.d, z.haar(z.d), e.FixedLength) }
	case orf.Simplex:
		law = func(z pair, m int) float64 { return z.simplex(m, e.FixedLength) }
	case orf.Hadamard:
		law = func(z pair, m int) float64 { return z.hadamard(m, e.Factors, e.FixedLength) }
	case orf.Givens:
		law = func(z pair, m int) float64 { return z.givens(m, e.Rotations, e.FixedLength) }
	default:
		return nil
	}
	return func(x, y []float64, m int) float64 {
		return homogeneous(x, y, m, 2, func(z pair) float64 { return law(z, m) })
	}
}

// hadamard is the law of orthogonal rows of R^d', d' = hadamard.FastOrder(d), for a product of k ≥
// 1 factors: T_k = P − (2/d')·T_{k−1} with T₀ = d'·Σ x_i²y_i² [Choromanski et al. 2017].
func (z pair) hadamard(m, k int, fixedLength bool) float64 {
	if k < 1 {
		panic(fmt.Sprintf("mse: Hadamard.Factors = %d, want at least 1", k))
	}
	order := hadamard.FastOrder(z.d)
	t := float64(order) * z.squares()
	for range k {
		t = z.fourth() - 2/float64(order)*t
	}
	return z.withoutReplacement(m, order, t, fixedLength)
}

// givens is the law of orthogonal rows for a product of n ≥ 0 rotations, with T = d·G_n for G_n =
// P/(d+2) + (1 − (d+2)/(2d(d−1)))^n·(Σ x_i²y_i² − P/(d+2)).
func (z pair) givens(m, n int, fixedLength bool) float64 {
	if n < 0 {
		panic(fmt.Sprintf("mse: Givens.Rotations = %d, want at least 0", n))
	}
	d := float64(z.d)
	t := z.haar(z.d)
	if n == 0 {
		t = d * z.squares()
	} else if z.d > 1 {
		t += math.Pow(1-(d+2)/(2*d*(d-1)), float64(n)) * (d*z.squares() - t)
	}
	return z.withoutReplacement(m, z.d, t, fixedLength)
}

// simplex is the law of rows with the covariance (T − s²)·(κ²d − 1)/(d−1) for κ = −1/(d−1).
func (z pair) simplex(m int, fixedLength bool) float64 {
	d, t, cosine := float64(z.d), z.haar(z.d), simplexCosine(z.d)
	v := t - z.s*z.s
	c := v * (cosine*cosine*d - 1) / (d - 1)
	if !fixedLength {
		v += 2 * t / d
	}
	return blocks(m, z.d, v, c)
}

// fourth returns P = E[(wᵀx)²(wᵀy)²] for w ~ N(0, I).
func (z pair) fourth() float64 { return z.xx*z.yy + 2*z.s*z.s }

// haar returns T = E[(wᵀx)²(wᵀy)²] for w uniform on the sphere of radius √d.
func (z pair) haar(d int) float64 { return float64(d) * z.fourth() / float64(d+2) }

// withoutReplacement returns the law of rows drawn from an orthogonal matrix of the given order,
// times √order. T is the second moment of a term. Two terms have the covariance −(T −
// s²)/(order−1), and lengths from χ(order) make the second moment (1 + 2/order)·T.
func (z pair) withoutReplacement(m, order int, t float64, fixedLength bool) float64 {
	n, others := float64(m), float64(order-1)
	var mse float64
	if order > 1 {
		// The factor is computed from whole numbers, so that it is exactly 0 for whole matrices.
		mse = (t - z.s*z.s) * ((n*others - pairs(m, order)) / (n * n * others))
	}
	if !fixedLength {
		mse += 2 * t / (float64(order) * n)
	}
	return mse
}

func (z pair) squares() float64 {
	var sum float64
	for i, v := range z.x {
		sum += v * v * z.y[i] * z.y[i]
	}
	return sum
}
