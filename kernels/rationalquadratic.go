package kernels

import (
	"cmp"
	"fmt"
	"math"
)

// RationalQuadratic is the kernel k(x, y) = (1 + ‖x−y‖²/(2αℓ²))^(−α), where α is Alpha and ℓ is
// LengthScale: a mixture of Gaussian kernels, and for α → ∞ the Gaussian kernel of length-scale ℓ
// [Rasmussen & Williams 2006, §4.2]. RationalQuadratic is positive definite, with values in (0, 1].
type RationalQuadratic struct {
	// Alpha is α > 0 in (1 + ‖x−y‖²/(2αℓ²))^(−α); zero means 1.
	Alpha float64
	// LengthScale is ℓ > 0 in (1 + ‖x−y‖²/(2αℓ²))^(−α), in units of x; zero means 1.
	LengthScale float64
}

// Eval returns the RationalQuadratic kernel at x, y, and panics if Check fails or len(x) ≠ len(y).
func (k RationalQuadratic) Eval(x, y []float64) float64 {
	must(k.check())
	return k.profile(squaredDistance(x, y, orOne(k.LengthScale)))
}

func (k RationalQuadratic) check() error {
	return cmp.Or(
		positive("RationalQuadratic.Alpha", k.Alpha),
		positive("RationalQuadratic.LengthScale", k.LengthScale),
	)
}

// String returns the kernel as a literal of Go, with defaults filled in.
func (k RationalQuadratic) String() string {
	return fmt.Sprintf("RationalQuadratic{Alpha: %v, LengthScale: %v}", orOne(k.Alpha), orOne(k.LengthScale))
}

func (k RationalQuadratic) fromProducts(g []float64, xx float64, yy []float64) {
	squaredDistances(g, xx, yy, orOne(k.LengthScale))
	for j, q := range g {
		g[j] = k.profile(q)
	}
}

func (k RationalQuadratic) profile(q float64) float64 {
	a := orOne(k.Alpha)
	// Log1p keeps the digits that 1 + q/(2α) loses when α is large.
	return math.Exp(-a * math.Log1p(q/2/a))
}
