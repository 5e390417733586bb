package codelaw

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// LloydMax returns the n cells a sign with the smallest mean squared error for a coordinate of a
// uniform unit vector in R^d, d ≥ 4: every level is the mean of its cell, and every edge is halfway
// between levels [Max 1960]. The density is log-concave, so that there is one solution.
//
// Newton's method finds the edges. It starts from the edges that are best for many cells [Panter &
// Dite 1951]: equal shares of the cube root of the density.
func LloydMax(d, n int) Cells {
	c := Cells{make([]float64, n), make([]float64, n)}
	for j := range n {
		c.Edges[j] = math.Sqrt(mathext.InvRegIncBeta(0.5, float64(d-3)/6+1, float64(j)/float64(n)))
	}
	// Equation j says that edge j is halfway: 0 = 2t_j − c_{j−1} − c_j. Its derivatives with
	// respect to the edges j−1, j and j+1 make a tridiagonal matrix. Steps shrink quadratically
	// near the end.
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
			// Edges stay in order however far the first steps go.
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

// cell returns P(lo < |u₁| < hi) and the mean of |u₁| there. A difference of two tails would
// cancel.
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

// solveTridiagonal solves by elimination without exchanges, writes all arguments and returns the
// solution in place of the right side b.
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

// BestUniform returns the n cells of equal width a sign for which the angle between u and s is
// smallest: for which (E sᵀu)²/E‖s‖² is largest, by golden sections. The width is rounded to 8
// binary digits, so that it is the same whatever the last digits of elementary functions are. The
// optimum is flat: that adds less than 1e-4 of the error.
func BestUniform(d, n int) Cells {
	if n == 1 {
		return Uniform(1, 2) // the angle does not depend on the width
	}
	loss := func(logStep float64) float64 {
		m := Uniform(n, math.Exp(logStep)).Moments(d)
		return -m.Along * m.Along / m.Square
	}
	// A coordinate has the mean square 1/d, and n cells reach from a half to seven times its root.
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
