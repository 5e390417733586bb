package rff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

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
// An error reports a nil w or src, a nu other than 0.5, 1.5 and 2.5, and a lengthScale that is not
// a positive number in the range of T.
func Matern[T dense.Float](w orf.Projection[T], nu, lengthScale float64, src rand.Source) (Map[T], error) {
	e, err := newEngine(w, 2)
	if err != nil {
		return nil, err
	}
	_, err = inverse[T]("lengthScale", lengthScale)
	if err := cmp.Or(smoothness(nu), err, given(src)); err != nil {
		return nil, err
	}
	lengths := make([]T, e.frequencies())
	squares := distuv.ChiSquared{K: 2 * nu, Src: src}
	for i := range lengths {
		lengths[i] = T(math.Sqrt(2*nu/squares.Rand()) / lengthScale)
	}
	return maternRecipe[T]{w, nu, lengthScale, lengths}.make()
}

// maternRecipe is what Matern is made of. Gains are √(2ν/χ²)/ℓ of each frequency.
type maternRecipe[T dense.Float] struct {
	W               orf.Projection[T]
	Nu, LengthScale float64
	Gains           []T
}

func (r maternRecipe[T]) make() (Map[T], error) {
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
