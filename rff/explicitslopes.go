package rff

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// chunk is the length of the scratch array that eluSlope keeps on its stack.
const chunk = 128

// eluSlope is the derivative of elu(x) + 1, which is e^min(x, 0), times g. dx may be x or g.
func eluSlope[T dense.Float](dx, x, g []T) {
	var values [chunk]T
	for len(x) > 0 {
		n := min(len(x), chunk)
		v := values[:n]
		copy(v, x)
		vecmath.Scale(v, -1)
		vecmath.Max0(v, -1)
		vecmath.AddScaled(v, x[:n], 0) // NaN for ±Inf
		vecmath.Exp(v, v)
		copy(dx[:n], g)
		vecmath.Multiply(dx[:n], v)
		dx, x, g = dx[n:], x[n:], g[n:]
	}
}

// logELUSlope is the derivative of log(elu(x) + 1), 1/(1 + x) or 1, times g. dx may be x or g.
func logELUSlope[T dense.Float](dx, x, g []T) {
	g = g[:len(x)]
	for i, v := range x {
		// v − v is NaN for ±Inf and 0 for every number.
		dx[i] = g[i]/(1+max(v, 0)) + (v - v)
	}
}

// quadraticSlope adds the derivative of quadratic(phi, x, c), times g, to dx.
func quadraticSlope[T dense.Float](dx, x, g []T, c T) {
	d := len(x)
	mixed := T(math.Sqrt2) * c
	next := g[d:]
	for i, v := range x {
		of := next[:d-i-1]
		dx[i] += 2*c*v*g[i] + mixed*vecmath.Dot(of, x[i+1:])
		vecmath.AddScaled(dx[i+1:], of, mixed*v)
		next = next[d-i-1:]
	}
}
