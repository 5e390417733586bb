package rff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Gaussian has Fourier features of the Gaussian kernel exp(−‖x−y‖²/(2ℓ²)) [Rahimi & Recht 2007]:
//
//	φ(x) = 1/√m · [cos(w₁ᵀx/ℓ) … cos(w_mᵀx/ℓ), sin(w₁ᵀx/ℓ) … sin(w_mᵀx/ℓ)],  R^d → R^2m.
//
// Estimates of the kernel by Gaussian are unbiased for frequencies from N(0, I), and feature
// vectors have the norm 1. With m independent N(0, I) frequencies and q = ‖x−y‖²/ℓ², the mean
// squared error of Gaussian is (1−e^(−q))²/(2m) [Sutherland & Schneider 2015]; orthogonal
// frequencies lower the error [Yu et al. 2016].
type Gaussian struct {
	LengthScale float64 // ℓ, in units of x, above 0
}

func (Gaussian) perFrequency() int { return 2 }
func (s Gaussian) String() string  { return fmt.Sprintf("Gaussian(lengthScale=%v)", s.LengthScale) }

func gaussian[T dense.Float](s Gaussian, e engine[T]) (Map[T], error) {
	inv, err := inverse[T]("lengthScale", s.LengthScale)
	if err != nil {
		return nil, err
	}
	law := mse.OfGaussian(sutherland, 1/(s.LengthScale*s.LengthScale))
	return trigonometric(e, inv, nil, kernels.Gaussian{LengthScale: s.LengthScale}, law), nil
}

const sutherland = "Sutherland & Schneider 2015"

// numbers returns n numbers, a copy of known or draws if known is nil, and the numbers in T.
func numbers[T dense.Float](name string, known []float64, n int, src rand.Source, draw func(src rand.Source) float64) ([]float64, []T, error) {
	all := slices.Clone(known)
	if known == nil {
		if src == nil {
			return nil, nil, fmt.Errorf("rff: Src is nil, want a source for %s", name)
		}
		all = make([]float64, n)
		for i := range all {
			all[i] = draw(src)
		}
	}
	rounded := dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(all), all)).Data
	return all, rounded, each(name, rounded, n)
}

// trigonometric returns the features [cos t, sin t]/√m for t = r·Wx, or t_k = gains[k]·(Wx)_k.
func trigonometric[T dense.Float](e engine[T], r T, gains []T, k kernels.Kernel, law mse.Law) *features[T] {
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
	return newFeatures(e, k, law, row, waveSlope(e, norm, r, gains))
}

// waves overwrites the projections t of the frequencies from ≤ k < to by c·[cos t, sin t].
func waves[T dense.Float](phi []T, from, to int, c T) {
	m := len(phi) / 2
	cosines, sines := phi[from:to], phi[m+from:m+to]
	vecmath.Sincos(sines, cosines, cosines)
	vecmath.Scale(cosines, c)
	vecmath.Scale(sines, c)
}

// Laplacian has Fourier features of the Laplacian kernel exp(−‖x−y‖₁/ℓ) [Rahimi & Recht 2007]:
//
//	φ(x) = 1/√m · [cos(w₁ᵀx/ℓ) … cos(w_mᵀx/ℓ), sin(w₁ᵀx/ℓ) … sin(w_mᵀx/ℓ)],  R^d → R^2m.
//
// Laplacian needs frequencies of orf.Cauchy or orf.FromMatrix, and feature vectors have the norm 1.
// Estimates of the kernel k by Laplacian with m frequencies of orf.Cauchy are unbiased, with the
// mean squared error (1 + k(2x, 2y) − 2k(x, y)²)/(2m). A few features of Laplacian in float32 have
// no correct digit, which changes estimates negligibly for points x with ‖x‖₁ below some 10³
// length-scales; centre other points, or use float64.
type Laplacian struct {
	LengthScale float64 // ℓ, above 0
}

func (Laplacian) perFrequency() int { return 2 }
func (s Laplacian) String() string  { return fmt.Sprintf("Laplacian(lengthScale=%v)", s.LengthScale) }

func laplacian[T dense.Float](s Laplacian, e engine[T]) (Map[T], error) {
	inv, err := inverse[T]("lengthScale", s.LengthScale)
	if err != nil {
		return nil, err
	}
	law := mse.OfIndependent("Laplacian", sutherland, orf.Cauchy{}, 1/(s.LengthScale*s.LengthScale), mse.LaplacianIID)
	return trigonometric(e, inv, nil, kernels.Laplacian{LengthScale: s.LengthScale}, law), nil
}

// Matern has the random Fourier features of the Matérn kernel k of smoothness ν and length-scale ℓ:
//
//	φ(x) = 1/√m · [cos(v₁ᵀx) … cos(v_mᵀx), sin(v₁ᵀx) … sin(v_mᵀx)],  R^d → R^2m,
//	v_i = g_i·w_i,  g_i = √(2ν/χ_i²)/ℓ,  χ_i² ~ χ²(2ν).
//
// The random gains g_i of Matern give frequencies w_i from N(0, I) the spectral distribution of the
// Matérn kernel, a multivariate t with 2ν degrees of freedom [Rasmussen & Williams 2006, §4.2.1].
// Estimates of k by Matern are unbiased for frequencies from N(0, I), with the mean squared error
// (1 + k(2x, 2y) − 2k(x, y)²)/(2m) for m independent frequencies. Feature vectors have norm 1.
type Matern struct {
	Nu          float64     // ν: 0.5, 1.5 or 2.5
	LengthScale float64     // ℓ, above 0
	Gains       []float64   // g₁ … g_m; nil to draw them
	Src         rand.Source `archive:"-"`
}

func (Matern) perFrequency() int { return 2 }
func (s Matern) String() string {
	return fmt.Sprintf("Matern(nu=%v, lengthScale=%v)", s.Nu, s.LengthScale)
}

func matern[T dense.Float](s Matern, e engine[T]) (Map[T], error) {
	if s.Nu != 0.5 && s.Nu != 1.5 && s.Nu != 2.5 {
		return nil, fmt.Errorf("rff: nu = %v, want 0.5, 1.5 or 2.5", s.Nu)
	}
	_, err := inverse[T]("lengthScale", s.LengthScale)
	if err != nil {
		return nil, err
	}
	var gains []T
	if s.Gains, gains, err = numbers[T]("gains", s.Gains, e.frequencies(), s.Src, func(src rand.Source) float64 {
		return math.Sqrt(2*s.Nu/distuv.ChiSquared{K: 2 * s.Nu, Src: src}.Rand()) / s.LengthScale
	}); err != nil {
		return nil, err
	}
	s.Src = nil
	e.recipe.Spec = s
	law := mse.OfIndependent("Matern", sutherland, orf.IID{}, 1/(s.LengthScale*s.LengthScale), mse.MaternIID(s.Nu))
	return trigonometric(e, 1, gains, kernels.Matern{Nu: s.Nu, LengthScale: s.LengthScale}, law), nil
}
