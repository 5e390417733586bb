package kernels

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Nonlinearity is a function f of projections with a closed E[f(wᵀx)f(wᵀy)].
type Nonlinearity int

const (
	// ReLU is f(t) = max(t, 0).
	ReLU Nonlinearity = iota
	// Square is f(t) = t².
	Square
	// Exponential is f(t) = e^t.
	Exponential
)

// String returns the name of f as it is written in Go.
func (f Nonlinearity) String() string {
	if f < ReLU || f > Exponential {
		return fmt.Sprintf("Nonlinearity(%d)", int(f))
	}
	return [...]string{"ReLU", "Square", "Exponential"}[f]
}

// Generalised is the kernel of generalised attention [Choromanski et al. 2021],
//
//	k(x, y) = E[(f(wᵀx) + ε)(f(wᵀy) + ε)],  w ~ N(0, I),
//
// where f is F and ε is Epsilon. With k₀ for ε = 0 it is k₀ + ε·(E f(wᵀx) + E f(wᵀy)) + ε²:
//
//	f            k₀                        E f(wᵀx)
//	ReLU         ½·ArcCosine{Order: 1}     ‖x‖/√(2π)
//	Square       ‖x‖²‖y‖² + 2(xᵀy)²        ‖x‖²
//	Exponential  exp(‖x+y‖²/2)             exp(‖x‖²/2)
//
// Positive semi-definite on R^d by the expectation; range [0, ∞). Exponential overflows to +Inf
// once ‖x+y‖² exceeds 1419.
type Generalised struct {
	// F is f; the zero value is ReLU.
	F Nonlinearity
	// Epsilon is ε ≥ 0.
	Epsilon float64
}

// Eval returns k(x, y) in O(d). It panics if the lengths differ or a parameter is out of range.
func (k Generalised) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	return k.pure(x, y) + k.raised(floats.Dot(x, x), floats.Dot(y, y))
}

// pure returns k₀.
func (k Generalised) pure(x, y []float64) float64 {
	switch k.F {
	case ReLU:
		return ArcCosine{Order: 1}.Eval(x, y) / 2
	case Square:
		dot := floats.Dot(x, y)
		return floats.Dot(x, x)*floats.Dot(y, y) + 2*dot*dot
	}
	var p float64
	for i, v := range x {
		p += (v + y[i]) * (v + y[i])
	}
	return math.Exp(p / 2)
}

// raised returns the part of k that ε adds, for xx = ‖x‖² and yy = ‖y‖².
func (k Generalised) raised(xx, yy float64) float64 {
	if k.Epsilon == 0 {
		return 0
	}
	return k.Epsilon * (k.mean(xx) + k.mean(yy) + k.Epsilon)
}

// mean returns E f(wᵀx) for xx = ‖x‖².
func (k Generalised) mean(xx float64) float64 {
	switch k.F {
	case ReLU:
		return math.Sqrt(xx / (2 * math.Pi))
	case Square:
		return xx
	}
	return math.Exp(xx / 2)
}

func (k Generalised) check() error {
	if k.F < ReLU || k.F > Exponential {
		return fmt.Errorf("kernels: Generalised.F = %v, want ReLU, Square or Exponential", k.F)
	}
	if !(k.Epsilon >= 0) || math.IsInf(k.Epsilon, 1) {
		return fmt.Errorf("kernels: Generalised.Epsilon = %v, want a finite number, at least 0", k.Epsilon)
	}
	return nil
}

// String returns the kernel as it is written in Go.
func (k Generalised) String() string {
	return fmt.Sprintf("Generalised{F: %v, Epsilon: %v}", k.F, k.Epsilon)
}

func (k Generalised) fromProducts(g []float64, xx float64, yy []float64) {
	yy = yy[:len(g)]
	switch k.F {
	case ReLU:
		ArcCosine{Order: 1}.fromProducts(g, xx, yy)
		for j := range g {
			g[j] /= 2
		}
	case Square:
		for j, v := range g {
			g[j] = xx*yy[j] + 2*v*v
		}
	default:
		for j, v := range g {
			g[j] = math.Exp((xx+yy[j])/2 + v)
		}
	}
	for j := range g {
		g[j] += k.raised(xx, yy[j])
	}
}
