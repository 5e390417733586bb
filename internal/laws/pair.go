package laws

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// pair is what the laws need to know of two points of R^d.
type pair struct {
	d      int
	xx, yy float64 // ‖x‖², ‖y‖²
	s      float64 // xᵀy
	p, q   float64 // ‖x+y‖², ‖x−y‖²
}

// newPair panics unless x and y are points of the same space and m ≥ 1.
func newPair(x, y []float64, m int) pair {
	if len(x) != len(y) || len(x) == 0 {
		panic(fmt.Sprintf("laws: x has length %d, y has length %d, want the same, at least 1", len(x), len(y)))
	}
	if m < 1 {
		panic(fmt.Sprintf("laws: m = %d, want at least 1", m))
	}
	z := pair{d: len(x), xx: floats.Dot(x, x), yy: floats.Dot(y, y), s: floats.Dot(x, y)}
	for i, v := range x {
		z.p += (v + y[i]) * (v + y[i])
		z.q += (v - y[i]) * (v - y[i])
	}
	return z
}

// angle returns θ = 2·atan2(‖a−b‖, ‖a+b‖) for the directions a and b of x and y.
func angle(x, y []float64) float64 {
	nx, ny := floats.Norm(x, 2), floats.Norm(y, 2)
	var plus, minus float64
	for i, v := range x {
		a, b := v/nx, y[i]/ny
		plus += (a + b) * (a + b)
		minus += (a - b) * (a - b)
	}
	return 2 * math.Atan2(math.Sqrt(minus), math.Sqrt(plus))
}
