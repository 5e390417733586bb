package codelaw

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// LloydMax returns the n cells per sign with the smallest mean squared error for a coordinate of a
// uniform unit vector in R^d, d ≥ 4: every level is the mean of its cell, and every edge is the
// midpoint of two levels [Max 1960]. The solution is unique, because the density is log-concave.
//
// Newton's method finds the edges. It starts from the edges that are optimal for many cells [Panter
// & Dite 1951], between which the cube root of the density has equal integrals.
func LloydMax(d, n int) Cells {
	c := Cells{make([]float64, n), make([]float64, n)}
	for j := range n {
		c.Edges[j] = math.Sqrt(mathext.InvRegIncBeta(0.5, float64(d-3)/6+1, float64(j)/float64(n)))
	}
	// Equation j is 0 = 2t_j − c_{j−1} − c_j for edge t_j and levels c. The matrix of its
	// derivatives with respect to the edges is tridiagonal.
	residual, lower, diagonal, upper := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for range 50 {
		for j := range n {
			residual[j], lower[j], diagonal[j], upper[j] = 2*c.Edges[j], 0, 2, 0
		}
		diagonal[0], residual[0] = 1, 0 // edge 0 stays
		for j, lo := range c.Edges {
			p := beyond(d, lo)
			level := firstBeyond(d, lo) / p
			if j+1 < n {
				p, level = cell(d, lo, c.Edges[j+1])
			}
			c.Levels[j] = level
			byLow := density(d, lo) * (level - lo) / p
			if j > 0 {
				residual[j] -= level
				diagonal[j] -= byLow
			}
			if j+1 < n {
				hi := c.Edges[j+1]
				byHigh := density(d, hi) * (hi - level) / p
				residual[j+1] -= level
				diagonal[j+1] -= byHigh
				if j > 0 {
					upper[j] = -byHigh
				}
				lower[j+1] = -byLow
			}
		}
		step := solveTridiagonal(lower, diagonal, upper, residual)
		largest := 0.0
		for j := 1; j < n; j++ {
			// The edges must ascend, even if the first steps are too long.
			low, high := c.Edges[j-1], 1.0
			if j+1 < n {
				high = c.Edges[j+1]
			}
			next := c.Edges[j] - step[j]
			if next <= low || next >= high {
				next = math.Min(math.Max(next, (low+c.Edges[j])/2), (c.Edges[j]+high)/2)
			}
			largest = math.Max(largest, math.Abs(next-c.Edges[j])/c.Edges[1])
			c.Edges[j] = next
		}
		if largest < 1e-12 {
			break
		}
	}
	return c
}

// cell returns P(lo < |u₁| < hi) and the conditional mean of |u₁|, by a quadrature, because a
// difference of tail probabilities would cancel.
func cell(d int, lo, hi float64) (p, mean float64) {
	const points = 16
	var at, weight [points]float64
	quad.Legendre{}.FixedLocations(at[:], weight[:], lo, hi)
	excess := 0.0
	for i, x := range at {
		f := weight[i] * density(d, x)
		p += f
		excess += f * (x - lo)
	}
	return p, lo + excess/p
}

// solveTridiagonal solves a tridiagonal system with the right-hand side b by elimination without
// pivoting. It overwrites diagonal and b, and returns the solution in b.
func solveTridiagonal(lower, diagonal, upper, b []float64) []float64 {
	n := len(b)
	for i := 1; i < n; i++ {
		f := lower[i] / diagonal[i-1]
		diagonal[i] -= f * upper[i-1]
		b[i] -= f * b[i-1]
	}
	for i := n - 1; i >= 0; i-- {
		if i+1 < n {
			b[i] -= upper[i] * b[i+1]
		}
		b[i] /= diagonal[i]
	}
	return b
}

// BestUniform returns the n cells per sign of equal width that minimise the angle between u and s:
// golden-section search maximises (E sᵀu)²/E‖s‖². The width is rounded to 8 binary digits, so that
// it does not depend on the last digits of elementary functions. The rounding adds less than 1e-4
// of the error, because the optimum is flat.
func BestUniform(d, n int) Cells {
	if n == 1 {
		return Uniform(1, 2) // the angle does not depend on the width
	}
	loss := func(logStep float64) float64 {
		m := Uniform(n, math.Exp(logStep)).Moments(d)
		return -m.Along * m.Along / m.Square
	}
	// n cells end between 0.5 and 7 standard deviations 1/√d of a coordinate.
	lo, hi := math.Log(0.5/float64(n)/math.Sqrt(float64(d))), math.Log(7/float64(n)/math.Sqrt(float64(d)))
	const ratio = math.Phi - 1
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := loss(a), loss(b)
	for hi-lo > 1e-7 {
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = loss(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = loss(b)
		}
	}
	fraction, exponent := math.Frexp(math.Exp((lo + hi) / 2))
	return Uniform(n, math.Ldexp(math.RoundToEven(fraction*256), exponent-8))
}
