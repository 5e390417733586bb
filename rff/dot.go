package rff

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// DotProduct is the random projection φ(x) = [w₁ᵀx … w_mᵀx]/√m from R^d to R^m with frequencies
// w_k, and φ(x)ᵀφ(y) estimates the dot product xᵀy (Johnson–Lindenstrauss). Estimates of the dot
// product by DotProduct are unbiased for random frequencies w with E[wwᵀ] = I. With m independent
// N(0, I) frequencies, the mean squared error of DotProduct is ((xᵀy)² + ‖x‖²‖y‖²)/m; orthogonal
// frequencies lower the error [Choromanski, Rowland & Weller 2017].
type DotProduct struct{}

func (DotProduct) perFrequency() int { return 1 }
func (DotProduct) String() string    { return "DotProduct()" }

func dotProduct[T dense.Float](e engine[T]) (Map[T], error) {
	norm := T(1 / math.Sqrt(float64(e.out)))
	row := func(phi, _ []T, from, to int) { vecmath.Scale(phi[from:to], norm) }
	back := straight(e, func(_, _, _ []T) (a, b T) { return norm, 0 }, scaled[T])
	return newFeatures(e, kernels.DotProduct{}, mse.OfDotProduct(), row, back), nil
}

// Angular has sign features of the angular kernel 1 − 2θ/π at the angle θ [Charikar 2002]:
//
//	φ(x) = 1/√m · [sign(w₁ᵀx) … sign(w_mᵀx)],  R^d → R^m.
//
// Estimates of the kernel by Angular are unbiased for isotropic frequencies of any lengths, with
// the mean squared error 4θ(π−θ)/(mπ²) for m independent frequencies. Angular gives the zero vector
// features 0, because sign 0 = 0, and NaN where the projection wᵀx is NaN or infinite.
type Angular struct{}

func (Angular) perFrequency() int { return 1 }
func (Angular) String() string    { return "Angular()" }

func angular[T dense.Float](e engine[T]) (Map[T], error) {
	norm := T(1 / math.Sqrt(float64(e.out)))
	row := func(phi, _ []T, from, to int) { vecmath.Sign(phi[from:to], norm) }
	return newFeatures(e, kernels.Angular{}, mse.OfAngular(), row, rowwise(e, flat[T])), nil
}

// ArcCosine has the rectified linear features of the arc-cosine kernel of order 1,
// kernels.ArcCosine{Order: 1}, for m frequencies w_k [Cho & Saul 2009]:
//
//	φ(x) = √(2/m) · [max(w₁ᵀx, 0) … max(w_mᵀx, 0)],  R^d → R^m.
//
// Estimates of the kernel by ArcCosine are unbiased for frequencies from N(0, I). With m
// independent N(0, I) frequencies, the mean squared error of ArcCosine at points x and y with the
// angle θ and the kernel k is (2‖x‖²‖y‖²·(3·sin θ·cos θ + (π−θ)(1 + 2cos²θ))/π − k²)/m. The map of
// ArcCosine is no LogMap, because many features are 0. ArcCosine gives the feature NaN where the
// projection wᵀx is NaN or −Inf. New makes features of the arc-cosine kernels of orders 0 and 2.
type ArcCosine struct{}

func (ArcCosine) perFrequency() int { return 1 }
func (ArcCosine) String() string    { return "ArcCosine()" }

func arcCosine[T dense.Float](e engine[T]) (Map[T], error) {
	norm := T(math.Sqrt(2 / float64(e.out)))
	law := mse.OfIndependent("ArcCosine", "after Cho & Saul 2009", orf.IID{}, 1, mse.ArcCosineIID)
	row := func(phi, _ []T, from, to int) { vecmath.Max0(phi[from:to], norm) }
	return newFeatures(e, kernels.ArcCosine{Order: 1}, law, row, stepSlope(e, norm)), nil
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

// flat is 0, or NaN where x or g is NaN or infinite.
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
