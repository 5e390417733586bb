package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

// DotProduct is the random projection
//
//	φ(x) = 1/√m · [w₁ᵀx … w_mᵀx],
//
// R^d → R^m, which estimates the dot product xᵀy (Johnson–Lindenstrauss). The map is unbiased for
// rows of w with E[wwᵀ] = I. With independent normal rows the mean squared error is ((xᵀy)² +
// ‖x‖²‖y‖²)/m; orthogonal rows lower it [Choromanski, Rowland & Weller 2017].
type DotProduct struct{}

func (DotProduct) perFrequency() int { return 1 }
func (DotProduct) String() string    { return "DotProduct()" }

func dotProduct[T dense.Float](e engine[T]) (Map[T], error) {
	norm := T(1 / math.Sqrt(float64(e.out)))
	row := func(phi, _ []T, from, to int) { vecmath.Scale(phi[from:to], norm) }
	back := straight(e, func(_, _, _ []T) (a, b T) { return norm, 0 }, scaled[T])
	return newFeatures(e, kernels.DotProduct{}, mse.OfDotProduct(), row, back), nil
}

// Angular has the sign features of the angular kernel 1 − 2θ/π, where θ is the angle between x and
// y [Charikar 2002],
//
//	φ(x) = 1/√m · [sign(w₁ᵀx) … sign(w_mᵀx)],
//
// R^d → R^m. sign 0 = 0: the zero vector has no direction, and all its features are 0. The sign of
// a projection that is NaN or infinite is not known, and its feature is NaN. The map is unbiased
// for isotropic rows of w of any lengths. With independent rows the mean squared error is
// 4θ(π−θ)/(mπ²).
type Angular struct{}

func (Angular) perFrequency() int { return 1 }
func (Angular) String() string    { return "Angular()" }

func angular[T dense.Float](e engine[T]) (Map[T], error) {
	norm := T(1 / math.Sqrt(float64(e.out)))
	row := func(phi, _ []T, from, to int) { vecmath.Sign(phi[from:to], norm) }
	return newFeatures(e, kernels.Angular{}, mse.OfAngular(), row, rowwise(e, flat[T])), nil
}

// ArcCosine has the features of the arc-cosine kernel of order n [Cho & Saul 2009],
//
//	φ(x) = √(2/m) · [Θ(w₁ᵀx)(w₁ᵀx)ⁿ … Θ(w_mᵀx)(w_mᵀx)ⁿ],
//
// R^d → R^m: steps, rectified linear units, or their squares. Θ is the unit step with Θ(0) = ½. The
// map is no LogMap, because many features are exactly 0. The map is unbiased for rows of w that are
// each N(0, I) (for order 0: isotropic). With independent rows the mean squared error is k(2−k)/m
// for order 0 and, for order 1, (2‖x‖²‖y‖²·(3·sin θ·cos θ + (π−θ)(1 + 2cos²θ))/π − k²)/m.
type ArcCosine struct {
	Order int // n: 0, 1 or 2
}

func (ArcCosine) perFrequency() int { return 1 }
func (s ArcCosine) String() string  { return fmt.Sprintf("ArcCosine(order=%d)", s.Order) }

func arcCosine[T dense.Float](s ArcCosine, e engine[T]) (Map[T], error) {
	norm := T(math.Sqrt(2 / float64(e.out)))
	f := newFeatures(e, kernels.ArcCosine{Order: s.Order}, mse.OfArcCosine(s.Order), nil, nil)
	switch s.Order {
	case 0:
		f.row = func(phi, _ []T, from, to int) { step(phi[from:to], norm) }
		f.back = rowwise(e, flat[T])
	case 1:
		f.row = func(phi, _ []T, from, to int) { vecmath.Max0(phi[from:to], norm) }
		f.back = stepSlope(e, norm)
	case 2:
		f.row = func(phi, _ []T, from, to int) { rampSquared(phi[from:to], norm) }
		f.back = rampSlope(e, norm)
	default:
		return nil, fmt.Errorf("rff: order = %d, want 0, 1 or 2", s.Order)
	}
	return f, nil
}

// The functions below are 0 on one side of the origin or jump there. They add v − v, which is 0 for
// a finite v and NaN for NaN and ±Inf, so that NaN and ±Inf do not disappear.

// step sets x[i] = c·Θ(x[i]), where Θ(0) = ½.
func step[T dense.Float](x []T, c T) {
	for i, v := range x {
		s := v - v
		switch {
		case v > 0:
			s += c
		case v == 0:
			s = c / 2
		}
		x[i] = s
	}
}

// rampSquared sets x[i] = c·max(x[i], 0)².
func rampSquared[T dense.Float](x []T, c T) {
	for i, v := range x {
		if v > 0 {
			x[i] = c * v * v
		} else {
			x[i] = v - v
		}
	}
}

// stepSlope is the derivative of c·max(Wx, 0), which is c·Θ(Wx), with Θ(0) = ½.
func stepSlope[T dense.Float](e engine[T], c T) *pullback[T] {
	return throughZ(e, e.out, func(z, _, g []T) (a, b T) {
		vecmath.Sign(z, 0.5)
		vecmath.Affine(z, z, 1, 0.5)
		vecmath.Multiply(z, g)
		return c, 0
	}, scaled[T])
}

// rampSlope is the derivative of c·max(Wx, 0)².
func rampSlope[T dense.Float](e engine[T], c T) *pullback[T] {
	return throughZ(e, e.out, func(z, _, g []T) (a, b T) {
		vecmath.Max0(z, 2)
		vecmath.Multiply(z, g)
		return c, 0
	}, scaled[T])
}

// flat is the derivative of a map that is constant between its jumps: 0, or NaN where x or g is NaN
// or infinite.
func flat[T dense.Float](dx, x, g []T) {
	var zero T
	for _, v := range x {
		zero += 0 * v
	}
	for _, v := range g {
		zero += 0 * v
	}
	for j := range dx {
		dx[j] = zero
	}
}
