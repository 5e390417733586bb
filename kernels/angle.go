package kernels

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Angular is the kernel k(x, y) = 1 − 2θ/π, where θ ∈ [0, π] is the angle between x and y: the
// expectation of sign(wᵀx)·sign(wᵀy) over isotropic random vectors w [Charikar 2002]. Angular is
// positive semi-definite on R^d, with values in [−1, 1]: 1 for parallel and −1 for opposite
// vectors. Angular counts the angle between the zero vector and every vector as π/2, so that k(0,
// y) = 0, as for features sign(wᵀx) with sign(0) = 0.
type Angular struct{}

// Eval returns the Angular kernel of x and y, and panics if x and y differ in length.
func (k Angular) Eval(x, y []float64) float64 {
	return fromSupplement(angle(x, y))
}

// String returns the kernel as a literal of Go.
func (k Angular) String() string { return "Angular{}" }

func (k Angular) fromProducts(g []float64, xx float64, yy []float64) {
	cosines(g, xx, yy)
	for j, c := range g {
		g[j] = fromSupplement(math.Acos(-c))
	}
}

func fromSupplement(psi float64) float64 { return 2*psi/math.Pi - 1 }

// ArcCosine is the arc-cosine kernel of order n = 0, 1 or 2 [Cho & Saul 2009]:
//
//	k(x, y) = ‖x‖ⁿ‖y‖ⁿ J_n(θ)/π = 2·E[Θ(wᵀx)Θ(wᵀy)(wᵀx)ⁿ(wᵀy)ⁿ],  w ~ N(0, I),
//	J₀ = π − θ,  J₁ = sin θ + (π − θ)·cos θ,  J₂ = 3·sin θ·cos θ + (π − θ)(1 + 2cos²θ).
//
// In the formula of ArcCosine, θ is the angle between x and y, and Θ the unit step with Θ(0) = ½.
// ArcCosine of order 1 is the kernel of an infinitely wide layer of rectified linear units.
// ArcCosine is positive semi-definite on R^d, with values in [0, 1] for order 0 and in [0, ∞) for
// orders 1 and 2. ArcCosine counts the angle between the zero vector and every vector as π/2.
type ArcCosine struct {
	// Order is the order n of the arc-cosine kernel: 0, 1 or 2.
	Order int
}

// Eval returns the ArcCosine kernel of x and y, and panics if Check fails or len(x) ≠ len(y).
func (k ArcCosine) Eval(x, y []float64) float64 {
	must(k.check())
	psi := angle(x, y)
	return k.radius(floats.Norm(x, 2)*floats.Norm(y, 2)) * k.profile(psi)
}

func (k ArcCosine) check() error {
	if k.Order < 0 || k.Order > 2 {
		return fmt.Errorf("kernels: ArcCosine.Order = %d, want 0, 1 or 2", k.Order)
	}
	return nil
}

// String returns the kernel as a literal of Go.
func (k ArcCosine) String() string { return fmt.Sprintf("ArcCosine{Order: %d}", k.Order) }

func (k ArcCosine) fromProducts(g []float64, xx float64, yy []float64) {
	cosines(g, xx, yy)
	for j, c := range g {
		g[j] = k.radius(math.Sqrt(xx)*math.Sqrt(yy[j])) * k.profile(math.Acos(-c))
	}
}

func (k ArcCosine) radius(r float64) float64 {
	switch k.Order {
	case 0:
		return 1
	case 1:
		return r
	}
	return r * r
}

func (k ArcCosine) profile(psi float64) float64 {
	if k.Order == 0 {
		return psi / math.Pi
	}
	if psi < 0.5 {
		return k.series(psi) / math.Pi
	}
	sin, cos := math.Sincos(psi)
	if k.Order == 1 {
		return (sin - psi*cos) / math.Pi
	}
	return (psi*(1+2*cos*cos) - 3*sin*cos) / math.Pi
}

// series returns J_n for small ψ, where the closed form cancels. With the terms t_i(z) =
// (−1)^i·z^(2i+1)/(2i+1)! of sin z,
//
//	J₁ = −Σ_{i≥1} 2i·t_i(ψ),  J₂ = Σ_{i≥2} (i−1)·t_i(2ψ).
func (k ArcCosine) series(psi float64) float64 {
	z, first := psi, 1
	if k.Order == 2 {
		z, first = 2*psi, 2
	}
	term, sum := z, 0.0
	for i := 1; i < 12; i++ {
		n := float64(i)
		term *= -z * z / (2 * n * (2*n + 1))
		switch {
		case i < first:
		case k.Order == 1:
			sum -= 2 * n * term
		default:
			sum += (n - 1) * term
		}
	}
	return sum
}

// angle returns ψ = π − θ by Kahan's formula for unit vectors u, v, 2·atan2(‖u+v‖, ‖u−v‖): arccos
// of the cosine has only half of the digits next to 0 and π.
func angle(x, y []float64) float64 {
	checkLengths(x, y)
	nx, ny := floats.Norm(x, 2), floats.Norm(y, 2)
	if (nx == 0 || ny == 0) && finite(x, y) {
		return math.Pi / 2
	}
	var plus, minus float64
	for i, v := range x {
		u, w := v/nx, y[i]/ny
		plus += (u + w) * (u + w)
		minus += (u - w) * (u - w)
	}
	return 2 * math.Atan2(math.Sqrt(plus), math.Sqrt(minus))
}

// cosines overwrites g[j] = xᵀy_j by cos θ, or by NaN if arccos would lose more than two bits.
func cosines(g []float64, xx float64, yy []float64) {
	yy = yy[:len(g)]
	nx := math.Sqrt(xx)
	for j, v := range g {
		c := v / (nx * math.Sqrt(yy[j]))
		if !(c*c <= 1-cancelled) {
			c = math.NaN()
		}
		g[j] = c
	}
}
