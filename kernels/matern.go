package kernels

import (
	"cmp"
	"fmt"
	"math"
)

// Matern is the Matérn kernel of length-scale ℓ and of smoothness ν = 1/2, 3/2 or 5/2, for which
// closed forms in the distance r = ‖x−y‖ exist [Rasmussen & Williams 2006, §4.2]:
//
//	ν = 1/2:  exp(−r/ℓ)
//	ν = 3/2:  (1 + √3·r/ℓ) · exp(−√3·r/ℓ)
//	ν = 5/2:  (1 + √5·r/ℓ + 5r²/(3ℓ²)) · exp(−√5·r/ℓ)
//
// Matern is positive definite on every R^d, with values in (0, 1], and 1 exactly where x = y.
type Matern struct {
	// Nu is the smoothness ν of the Matérn kernel: 0.5, 1.5 or 2.5; zero means 1.5.
	Nu float64
	// LengthScale is the length-scale ℓ > 0 of the Matérn kernel, in units of x; zero means 1.
	LengthScale float64
}

// Eval returns the Matérn kernel of x and y, and panics if Check fails or len(x) ≠ len(y).
func (k Matern) Eval(x, y []float64) float64 {
	must(k.check())
	return k.profile(squaredDistance(x, y, orOne(k.LengthScale)))
}

func (k Matern) check() error {
	switch k.Nu {
	case 0, 0.5, 1.5, 2.5:
		return positive("Matern.LengthScale", k.LengthScale)
	}
	return fmt.Errorf("kernels: Matern.Nu = %v, want 0.5, 1.5 or 2.5, or 0 for 1.5", k.Nu)
}

// String returns the kernel as a literal of Go, with defaults filled in.
func (k Matern) String() string {
	return fmt.Sprintf("Matern{Nu: %v, LengthScale: %v}", cmp.Or(k.Nu, 1.5), orOne(k.LengthScale))
}

func (k Matern) fromProducts(g []float64, xx float64, yy []float64) {
	squaredDistances(g, xx, yy, orOne(k.LengthScale))
	for j, q := range g {
		g[j] = k.profile(q)
	}
}

func (k Matern) profile(q float64) float64 {
	r := math.Sqrt(q)
	poly := 1.0
	switch k.Nu {
	case 0, 1.5:
		r *= math.Sqrt(3)
		poly = 1 + r
	case 2.5:
		r *= math.Sqrt(5)
		poly = 1 + r + r*r/3
	}
	decay := math.Exp(-r)
	// The polynomial may be +Inf where the exponential is 0, and 0·Inf would be NaN.
	if decay == 0 {
		return 0
	}
	return poly * decay
}
