package rff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

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
// R^d → R^2m, for the m frequencies of w. It is unbiased for rows of w that are each N(0, I), and
// ‖φ(x)‖ = 1 always. With q = ‖x−y‖²/ℓ² and independent rows the mean squared error is
// (1−e^(−q))²/(2m) [Sutherland & Schneider 2015]; orthogonal rows lower it [Yu et al. 2016].
//
// An error reports a nil w and a lengthScale that is not a positive number in the range of T.
func Gaussian[T dense.Float](w orf.Projection[T], lengthScale float64) (Map[T], error) {
	return gaussianRecipe[T]{w, lengthScale}.make()
}

// gaussianRecipe is what Gaussian is made of.
type gaussianRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
}

func (r gaussianRecipe[T]) make() (Map[T], error) {
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
// R^d → R^m. The m phases are drawn from src, uniform on [0, 2π). It is unbiased for rows of w that
// are each N(0, I); with q = ‖x−y‖²/ℓ² and independent rows the mean squared error is (1 +
// e^(−2q)/2 − e^(−q))/m [Sutherland & Schneider 2015]. At the same number of features this is
// always above the error of Gaussian, by e^(−q)·(1 − e^(−q)/2)/m.
//
// An error reports a nil w or src and a lengthScale that is not a positive number in the range of
// T.
func GaussianPhase[T dense.Float](w orf.Projection[T], lengthScale float64, src rand.Source) (Map[T], error) {
	e, _, err := newScaledEngine(w, 1, inverse[T], "lengthScale", lengthScale)
	if err := cmp.Or(err, given(src)); err != nil {
		return nil, err
	}
	return gaussianPhaseRecipe[T]{w, lengthScale, drawPhases[T](e.out, src)}.make()
}

// gaussianPhaseRecipe is what GaussianPhase is made of.
type gaussianPhaseRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
	Phases      []T
}

func (r gaussianPhaseRecipe[T]) make() (Map[T], error) {
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
