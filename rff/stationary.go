package rff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Gaussian returns the random Fourier features of the Gaussian kernel exp(−‖x−y‖²/(2ℓ²)), where ℓ
// is lengthScale [Rahimi & Recht 2007],
//
//	φ(x) = 1/√m · [cos(w₁ᵀx/ℓ) … cos(w_mᵀx/ℓ), sin(w₁ᵀx/ℓ) … sin(w_mᵀx/ℓ)],
//
// R^d → R^2m, for the m frequencies of w. The map is unbiased for rows of w that are each N(0, I),
// and ‖φ(x)‖ = 1 always. With q = ‖x−y‖²/ℓ² and independent rows the mean squared error is
// (1−e^(−q))²/(2m) [Sutherland & Schneider 2015]; orthogonal rows lower it [Yu et al. 2016].
//
// Gaussian returns an error for a nil w or a lengthScale that is not a positive number in the range
// of T.
func Gaussian[T dense.Float](w orf.Projection[T], lengthScale float64) (Map[T], error) {
	return build[Map[T]](gaussianRecipe[T]{w, lengthScale})
}

// gaussianRecipe holds the parts of Gaussian that a file stores.
type gaussianRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
}

func newGaussian[T dense.Float](r gaussianRecipe[T]) (Map[T], error) {
	e, inv, err := newScaledEngine(r.W, 2, inverse[T], "lengthScale", r.LengthScale)
	if err != nil {
		return nil, err
	}
	name, k := fmt.Sprintf("Gaussian(lengthScale=%v)", r.LengthScale), kernels.Gaussian{LengthScale: r.LengthScale}
	law := mse.OfGaussian("Gaussian", "Sutherland & Schneider 2015", mse.Trig, 1/(r.LengthScale*r.LengthScale))
	return trigonometric(e, inv, nil, r, name, k, law), nil
}

// GaussianPhase returns the other random Fourier features of the Gaussian kernel
// exp(−‖x−y‖²/(2ℓ²)), with one feature a frequency and random phases b [Rahimi & Recht 2007],
//
//	φ(x) = √(2/m) · [cos(w₁ᵀx/ℓ + b₁) … cos(w_mᵀx/ℓ + b_m)],
//
// R^d → R^m. The m phases are drawn from src, uniform on [0, 2π). The map is unbiased for rows of w
// that are each N(0, I); with q = ‖x−y‖²/ℓ² and independent rows the mean squared error is (1 +
// e^(−2q)/2 − e^(−q))/m [Sutherland & Schneider 2015]. At the same number of features this is
// always above the error of Gaussian, by e^(−q)·(1 − e^(−q)/2)/m.
//
// GaussianPhase returns an error for a nil w or src, or a lengthScale that is not a positive number
// in the range of T.
func GaussianPhase[T dense.Float](w orf.Projection[T], lengthScale float64, src rand.Source) (Map[T], error) {
	return build[Map[T]](gaussianPhaseDraw[T]{w, lengthScale, src})
}

// gaussianPhaseDraw has the arguments of GaussianPhase.
type gaussianPhaseDraw[T dense.Float] struct {
	w           orf.Projection[T]
	lengthScale float64
	src         rand.Source
}

func drawGaussianPhase[T dense.Float](a gaussianPhaseDraw[T]) (Map[T], error) {
	e, _, err := newScaledEngine(a.w, 1, inverse[T], "lengthScale", a.lengthScale)
	if err := cmp.Or(err, given(a.src)); err != nil {
		return nil, err
	}
	return newGaussianPhase(gaussianPhaseRecipe[T]{a.w, a.lengthScale, drawPhases[T](e.out, a.src)})
}

// gaussianPhaseRecipe holds the parts of GaussianPhase that a file stores.
type gaussianPhaseRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
	Phases      []T
}

func newGaussianPhase[T dense.Float](r gaussianPhaseRecipe[T]) (Map[T], error) {
	e, inv, err := newScaledEngine(r.W, 1, inverse[T], "lengthScale", r.LengthScale)
	if err := cmp.Or(err, each("phases", r.Phases, e.out)); err != nil {
		return nil, err
	}
	name, k := fmt.Sprintf("GaussianPhase(lengthScale=%v)", r.LengthScale), kernels.Gaussian{LengthScale: r.LengthScale}
	scale := 1 / (r.LengthScale * r.LengthScale)
	law := mse.OfGaussian("GaussianPhase", "Sutherland & Schneider 2015", mse.Phase, scale)
	return shifted(e, inv, r.Phases, r, name, k, law), nil
}

// trigonometric returns the features [cos t, sin t]/√m for t = r·Wx, or for t_k = gains[k]·(Wx)_k
// and an r of 1 if there are gains.
func trigonometric[T dense.Float](e engine[T], r T, gains []T, recipe any, name string, k kernels.Kernel, law mse.Law) *features[T] {
	norm := T(1 / math.Sqrt(float64(e.frequencies())))
	row := func(phi, _ []T, from, to int) {
		vecmath.Scale(phi[from:to], r)
		waves(phi, from, to, norm)
	}
	if gains != nil {
		row = func(phi, _ []T, from, to int) {
			vecmath.Multiply(phi[from:to], gains[from:to])
			waves(phi, from, to, norm)
		}
	}
	return &features[T]{engine: e, frame: e.named(name, k, law).of(recipe), row: row, back: waveSlope(e, norm, r, gains)}
}

// drawPhases draws n phases, uniform on [0, 2π).
func drawPhases[T dense.Float](n int, src rand.Source) []T {
	phases := make([]T, n)
	rng := rand.New(src)
	for i := range phases {
		phases[i] = T(2 * math.Pi * rng.Float64())
	}
	return phases
}

// shifted returns the features √(2/m)·cos(r·Wx + b) with the phases b.
func shifted[T dense.Float](e engine[T], r T, phases []T, recipe any, name string, k kernels.Kernel, law mse.Law) *features[T] {
	norm := T(math.Sqrt(2 / float64(e.out)))
	row := func(phi, _ []T, from, to int) {
		t := phi[from:to]
		vecmath.AffineEach(t, r, phases[from:to], 0)
		vecmath.Cos(t, t)
		vecmath.Scale(t, norm)
	}
	return &features[T]{engine: e, frame: e.named(name, k, law).of(recipe), row: row, back: phaseSlope(e, norm, r, phases)}
}

// waves overwrites the projections t of the frequencies from ≤ k < to by c·[cos t, sin t].
func waves[T dense.Float](phi []T, from, to int, c T) {
	m := len(phi) / 2
	cosines, sines := phi[from:to], phi[m+from:m+to]
	vecmath.Sincos(sines, cosines, cosines)
	vecmath.Scale(cosines, c)
	vecmath.Scale(sines, c)
}

// Laplacian returns the random Fourier features of the Laplacian kernel k(x, y) = exp(−‖x−y‖₁/ℓ),
// where ℓ is lengthScale [Rahimi & Recht 2007],
//
//	φ(x) = 1/√m · [cos(w₁ᵀx) … cos(w_mᵀx), sin(w₁ᵀx) … sin(w_mᵀx)],
//
// R^d → R^2m. The m·d coordinates of the frequencies are drawn from src, row by row: independent
// and Cauchy with scale 1/ℓ, the spectral law of the kernel. That law is not isotropic, so that
// package orf does not draw from it. The map is unbiased and ‖φ(x)‖ = 1. Its mean squared error is
// (1 + k(2x, 2y) − 2k(x, y)²)/(2m).
//
// Cauchy frequencies are sometimes huge: a share of 2‖x‖₁/(πℓt) of the phases wᵀx exceeds t. A
// phase has a rounding error of up to d·u·Σ|w_j x_j|, where u is 2⁻²⁴ for float32 and 2⁻⁵³ for
// float64. So a few features of a float32 map have no correct digit. These features do not matter
// for ‖x‖₁ below some 10³·ℓ. At ‖x‖₁ = 100ℓ and d = 64, one feature in 10⁵ was off by half its
// range, a feature by 6e-5 of its range on average, and the estimate, a mean over all features, by
// 4e-6. Centre data that are further out, or use float64.
//
// Laplacian returns an error for an m or d below 1, or too large for memory, a lengthScale that is
// not a positive number in the range of T, and a nil src.
func Laplacian[T dense.Float](m, d int, lengthScale float64, src rand.Source) (Map[T], error) {
	cauchy := func(rng *rand.Rand) float64 { return math.Tan(math.Pi * (rng.Float64() - 0.5)) }
	w, err := drawn[T](m, d, "lengthScale", lengthScale, src, cauchy)
	if err != nil {
		return nil, err
	}
	return build[Map[T]](laplacianRecipe[T]{w, lengthScale})
}

// laplacianRecipe holds the parts of Laplacian that a file stores.
type laplacianRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
}

func newLaplacian[T dense.Float](r laplacianRecipe[T]) (Map[T], error) {
	e, inv, err := newScaledEngine(r.W, 2, inverse[T], "lengthScale", r.LengthScale)
	if err != nil {
		return nil, err
	}
	name, k := fmt.Sprintf("Laplacian(lengthScale=%v)", r.LengthScale), kernels.Laplacian{LengthScale: r.LengthScale}
	scale := 1 / (r.LengthScale * r.LengthScale)
	law := mse.OfSketch("Laplacian", "Sutherland & Schneider 2015", scale, e.frequencies(), mse.LaplacianIID)
	return trigonometric(e, inv, nil, r, name, k, law), nil
}

// Matern returns the random Fourier features of the Matérn kernel k of smoothness ν = nu (0.5, 1.5
// or 2.5) and length-scale ℓ = lengthScale,
//
//	φ(x) = 1/√m · [cos(v₁ᵀx) … cos(v_mᵀx), sin(v₁ᵀx) … sin(v_mᵀx)],
//	v_i = w_i/ℓ · √(2ν/χ_i²),  χ_i² ~ χ²(2ν),
//
// R^d → R^2m. The spectral law of the kernel is a multivariate t with 2ν degrees of freedom
// [Rasmussen & Williams 2006, §4.2.1], that is, a row of w, which is normal, over an independent χ.
// The χ are drawn from src, one for each row. The map is unbiased for rows of w that are each N(0,
// I), orthogonal to each other or not, and ‖φ(x)‖ = 1. With independent rows the mean squared error
// is (1 + k(2x, 2y) − 2k(x, y)²)/(2m).
//
// For ν = 0.5 the frequencies are Cauchy along every direction. The remarks of Laplacian on the
// digits of large phases hold here with ‖x‖ in place of ‖x‖₁.
//
// Matern returns an error for a nil w or src, a nu other than 0.5, 1.5 and 2.5, and a lengthScale
// that is not a positive number in the range of T.
func Matern[T dense.Float](w orf.Projection[T], nu, lengthScale float64, src rand.Source) (Map[T], error) {
	return build[Map[T]](maternDraw[T]{w, nu, lengthScale, src})
}

// maternDraw has the arguments of Matern.
type maternDraw[T dense.Float] struct {
	w               orf.Projection[T]
	nu, lengthScale float64
	src             rand.Source
}

func drawMatern[T dense.Float](a maternDraw[T]) (Map[T], error) {
	e, err := newEngine(a.w, 2)
	if err != nil {
		return nil, err
	}
	_, err = inverse[T]("lengthScale", a.lengthScale)
	if err := cmp.Or(smoothness(a.nu), err, given(a.src)); err != nil {
		return nil, err
	}
	gains := make([]T, e.frequencies())
	squares := distuv.ChiSquared{K: 2 * a.nu, Src: a.src}
	for i := range gains {
		gains[i] = T(math.Sqrt(2*a.nu/squares.Rand()) / a.lengthScale)
	}
	return newMatern(maternRecipe[T]{a.w, a.nu, a.lengthScale, gains})
}

// maternRecipe holds the parts of Matern that a file stores. Gains are √(2ν/χ²)/ℓ of each
// frequency.
type maternRecipe[T dense.Float] struct {
	W               orf.Projection[T]
	Nu, LengthScale float64
	Gains           []T
}

func newMatern[T dense.Float](r maternRecipe[T]) (Map[T], error) {
	e, _, err := newScaledEngine(r.W, 2, inverse[T], "lengthScale", r.LengthScale)
	if err := cmp.Or(err, smoothness(r.Nu), each("gains", r.Gains, e.frequencies())); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("Matern(nu=%v, lengthScale=%v)", r.Nu, r.LengthScale)
	scale := 1 / (r.LengthScale * r.LengthScale)
	law := mse.OfIID("Matern", "Sutherland & Schneider 2015", scale, mse.MaternIID(r.Nu))
	return trigonometric(e, 1, r.Gains, r, name, kernels.Matern{Nu: r.Nu, LengthScale: r.LengthScale}, law), nil
}

// smoothness reports a ν without a closed form.
func smoothness(nu float64) error {
	if nu != 0.5 && nu != 1.5 && nu != 2.5 {
		return fmt.Errorf("rff: nu = %v, want 0.5, 1.5 or 2.5", nu)
	}
	return nil
}
