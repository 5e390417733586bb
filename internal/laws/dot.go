package laws

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/hadamard"
)

// Lengths is the law of the lengths of orthogonal rows.
type Lengths int

const (
	// Chi draws lengths from χ(d), independently, which makes rows of uniform
	// direction N(0, I).
	Chi Lengths = iota
	// Fixed gives every row the length √d, which leaves E[wwᵀ] = I.
	Fixed
)

// DotProductIID is the law of the features wᵀx/√m of the dot product,
//
//	MSE = (s² + ‖x‖²‖y‖²)/m.
func DotProductIID(x, y []float64, m int) float64 {
	return homogeneous(x, y, m, 2, func(z pair) float64 { return (z.s*z.s + z.xx*z.yy) / float64(m) })
}

// DotProductORF is the law of the same features with orthogonal rows: that of
// DotProductHaar with lengths from χ(d), which for m ≤ d is
//
//	DotProductIID − (m−1)/m·((d−2)s² + d‖x‖²‖y‖²)/((d−1)(d+2)).
func DotProductORF(x, y []float64, m int) float64 {
	return DotProductHaar(x, y, m, Chi)
}

// DotProductHaar is the law of the features wᵀx/√m with rows of a
// Haar-distributed orthogonal matrix, with the lengths given. Writing
// P = ‖x‖²‖y‖² + 2s², the second moment of a term with fixed lengths is
// T = dP/(d+2), and for m ≤ d
//
//	MSE = (1/m)·((d−m)/(d−1))·(T − s²),  and 2T/(dm) more with lengths from χ(d)
//
// [Choromanski, Rowland & Weller 2017].
func DotProductHaar(x, y []float64, m int, lengths Lengths) float64 {
	return homogeneous(x, y, m, 2, func(z pair) float64 {
		return z.withoutReplacement(m, z.d, z.haar(z.d), lengths)
	})
}

// DotProductHadamard is the law of the features wᵀx/√m with rows drawn without
// replacement, in random order, from a product of k ≥ 1 factors
// (1/√d')·H·D of a Hadamard matrix and random signs, where d' is the order of orf.Hadamard,
// hadamard.FastOrder(d), and points are padded with zeros. Lengths are those of
// R^d'. It is DotProductHaar in d' with T replaced by T_k,
//
//	T₀ = d'·Σ x_i²y_i²,  T_k = P − (2/d')·T_{k−1}
//
// [Choromanski, Rowland & Weller 2017]. It panics if k < 1.
func DotProductHadamard(x, y []float64, m, k int, lengths Lengths) float64 {
	if k < 1 {
		panic(fmt.Sprintf("laws: k = %d, want at least 1", k))
	}
	return homogeneous(x, y, m, 2, func(z pair) float64 {
		order := hadamard.FastOrder(z.d)
		t := float64(order) * z.squares()
		for range k {
			t = z.fourth() - 2/float64(order)*t
		}
		return z.withoutReplacement(m, order, t, lengths)
	})
}

// DotProductGivens is the law of the features wᵀx/√m with rows drawn without
// replacement from a product of n ≥ 0 rotations of uniform planes and angles. It
// is DotProductHaar with T replaced by d·G_n,
//
//	G_n = P/(d+2) + (1 − (d+2)/(2d(d−1)))^n·(Σ x_i²y_i² − P/(d+2)).
//
// G_n is the expectation of Σ x_i²y_i² after n rotations. A rotation by a uniform
// angle replaces the two of d coordinates that it turns by the average of their
// plane, and so G_n − P/(d+2) by a fixed multiple of it. It panics if n < 0.
func DotProductGivens(x, y []float64, m, n int, lengths Lengths) float64 {
	if n < 0 {
		panic(fmt.Sprintf("laws: n = %d, want at least 0", n))
	}
	return homogeneous(x, y, m, 2, func(z pair) float64 {
		d := float64(z.d)
		t := z.haar(z.d)
		if n == 0 {
			t = d * z.squares()
		} else if z.d > 1 {
			t += math.Pow(1-(d+2)/(2*d*(d-1)), float64(n)) * (d*z.squares() - t)
		}
		return z.withoutReplacement(m, z.d, t, lengths)
	})
}

// fourth returns P = E[(wᵀx)²(wᵀy)²] for w ~ N(0, I).
func (z pair) fourth() float64 { return z.xx*z.yy + 2*z.s*z.s }

// haar returns T = E[(wᵀx)²(wᵀy)²] for w uniform on the sphere of radius √d.
func (z pair) haar(d int) float64 { return float64(d) * z.fourth() / float64(d+2) }

// withoutReplacement returns the law of rows that are some of an orthogonal
// matrix of the given order times √order, with T the second moment of a term.
// The terms of a whole matrix have the sum order·s exactly, so any two of them
// have the covariance −(T − s²)/(order−1). Lengths from χ(order), which have
// E[χ⁴] = order(order+2), make the second moment (1 + 2/order)·T.
func (z pair) withoutReplacement(m, order int, t float64, lengths Lengths) float64 {
	n, others := float64(m), float64(order-1)
	var mse float64
	if order > 1 {
		// Whole numbers tell exactly that whole matrices have no error.
		mse = (t - z.s*z.s) * ((n*others - pairs(m, order)) / (n * n * others))
	}
	if lengths == Chi {
		mse += 2 * t / (float64(order) * n)
	}
	return mse
}

// squares returns Σ x_i²y_i².
func (z pair) squares() float64 {
	var sum float64
	for i, v := range z.x {
		sum += v * v * z.y[i] * z.y[i]
	}
	return sum
}
