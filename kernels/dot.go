package kernels

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// DotProduct is the linear kernel k(x, y) = xᵀy. DotProduct is positive semi-definite on R^d, of
// rank at most d, with values in (−∞, ∞).
type DotProduct struct{}

// Eval returns xᵀy, and panics if x and y differ in length.
func (k DotProduct) Eval(x, y []float64) float64 {
	checkLengths(x, y)
	return floats.Dot(x, y)
}

// String returns the kernel as a literal of Go.
func (k DotProduct) String() string { return "DotProduct{}" }

func (k DotProduct) fromProducts(_ []float64, _ float64, _ []float64) {}

// Softmax is the kernel k(x, y) = exp(γ·xᵀy) of dot-product attention, where γ is Gamma. Attention
// on queries and keys of dimension d has γ = 1/√d in exp(γ·xᵀy) [Choromanski et al. 2021]. Softmax
// is positive definite on R^d, with values in (0, ∞) that overflow to +Inf once γ·xᵀy exceeds
// 709.78 (88.72 in a float32 Gram matrix).
type Softmax struct {
	// Gamma is γ > 0 in exp(γ·xᵀy), in inverse squared units of x; zero means 1.
	Gamma float64 `archive:"scale"`
}

// Eval returns the Softmax kernel of x and y, and panics if Check fails or len(x) ≠ len(y).
func (k Softmax) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	// exp(−Inf) = 0 would hide an infinite coordinate.
	dot := floats.Dot(x, y)
	if math.IsInf(dot, -1) && !finite(x, y) {
		return math.NaN()
	}
	return math.Exp(orOne(k.Gamma) * dot)
}

func (k Softmax) check() error { return positive("Softmax.Gamma", k.Gamma) }

// String returns the kernel as a literal of Go, with defaults filled in.
func (k Softmax) String() string { return fmt.Sprintf("Softmax{Gamma: %v}", orOne(k.Gamma)) }

func (k Softmax) fromProducts(g []float64, _ float64, _ []float64) {
	s := orOne(k.Gamma)
	for j := range g {
		g[j] *= s
	}
	vecmath.Exp(g, g)
}

// Polynomial is the kernel (γ·xᵀy + c)^p, with γ = Gamma, c = Offset and p = Degree, positive
// semi-definite on R^d [Schölkopf & Smola 2002, §2.2].
type Polynomial struct {
	// Degree is the exponent p ≥ 1 in (γ·xᵀy + c)^p; zero means 3.
	Degree int
	// Gamma is γ > 0 in (γ·xᵀy + c)^p, in inverse squared units of x; zero means 1.
	Gamma float64
	// Offset is the number c ≥ 0 in (γ·xᵀy + c)^Degree.
	Offset float64
}

// Eval returns the Polynomial kernel of x and y, and panics if Check fails or len(x) ≠ len(y).
func (k Polynomial) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	return math.Pow(orOne(k.Gamma)*floats.Dot(x, y)+k.Offset, float64(k.degree()))
}

func (k Polynomial) degree() int { return cmp.Or(k.Degree, 3) }

func (k Polynomial) check() error {
	if k.Degree < 0 {
		return fmt.Errorf("kernels: Polynomial.Degree = %d, want at least 1, or 0 for 3", k.Degree)
	}
	if k.Offset < 0 || math.IsInf(k.Offset, 0) || math.IsNaN(k.Offset) {
		return fmt.Errorf("kernels: Polynomial.Offset = %v, want a finite number, at least 0", k.Offset)
	}
	return positive("Polynomial.Gamma", k.Gamma)
}

// String returns the kernel as a literal of Go, with defaults filled in.
func (k Polynomial) String() string {
	return fmt.Sprintf("Polynomial{Degree: %d, Gamma: %v, Offset: %v}", k.degree(), orOne(k.Gamma), k.Offset)
}

func (k Polynomial) fromProducts(g []float64, _ float64, _ []float64) {
	gamma, p := orOne(k.Gamma), float64(k.degree())
	for j, v := range g {
		g[j] = math.Pow(gamma*v+k.Offset, p)
	}
}
