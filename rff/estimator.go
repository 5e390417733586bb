package rff

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Form is what one frequency contributes to an estimate.
type Form int

// The forms of the maps that the mean squared error is known of. Those of maps whose
// names they bear need no more explanation.
const (
	FormUnknown Form = iota
	FormDotProduct
	FormGaussian
	FormGaussianPhase
	FormGaussianPositive
	FormGaussianHyperbolic
	FormGaussianOptimal
	FormLaplacian
	FormMatern
	FormSoftmaxTrig
	FormSoftmaxPositive
	FormSoftmaxHyperbolic
	FormSoftmaxOptimal // also SADERF and ADERF, of images of points
	FormSoftmaxDamped  // SDERF
	FormSoftmaxHybrid
	FormAngular
	FormArcCosine
	FormGeneralised // without ε
	FormPolynomialSketch
	FormMaclaurin
	FormTensorSketch
	FormSkewedChiSquare
)

// forms are the names of Forms.
var forms = [...]string{
	"Unknown", "DotProduct", "Gaussian", "GaussianPhase", "GaussianPositive", "GaussianHyperbolic", "GaussianOptimal",
	"Laplacian", "Matern",
	"SoftmaxTrig", "SoftmaxPositive", "SoftmaxHyperbolic", "SoftmaxOptimal", "SoftmaxDamped", "SoftmaxHybrid", "Angular", "ArcCosine", "Generalised",
	"PolynomialSketch", "Maclaurin", "TensorSketch", "SkewedChiSquare",
}

// String returns the name without Form.
func (f Form) String() string {
	if f < 0 || int(f) >= len(forms) {
		return fmt.Sprintf("Form(%d)", int(f))
	}
	return forms[f]
}

// Estimator says which estimate of the kernel a map computes: what its mean squared
// error depends on, besides the points and the law of the frequencies. Fields that a
// form does not use are zero.
type Estimator struct {
	Form Form

	// Scale is s of softmax features and 1/ℓ² of those with a length-scale: all are those of
	// scale 1 at the points √Scale·x.
	Scale float64

	// A is the a of optimal features.
	A float64

	// Nu is the smoothness ν of Matern.
	Nu float64

	// Order is that of ArcCosine.
	Order int

	// Gates is the number of signs of SoftmaxHybrid.
	Gates int

	// Query and Key (d×d) are the linear maps of points before all else: the estimate
	// at (x, y) is that of the form at (Query·x, Key·y). An empty Matrix stands for I.
	Query, Key dense.Matrix[float64]

	// Damping are the d elements of the diagonal matrix A of SDERF, Basis (d×d) has the
	// axes, the eigenvectors that they belong to, in its columns.
	Damping []float64
	Basis   dense.Matrix[float64]

	// Nonlinearity is the f of Generalised.
	Nonlinearity kernels.Nonlinearity

	// Polynomial is the kernel of PolynomialSketch and TensorSketch.
	Polynomial kernels.Polynomial

	// Weights is the law of the weights of PolynomialSketch and Maclaurin.
	Weights Weights

	// Coefficients are those of the kernel of Maclaurin, Degrees the probabilities of
	// the degrees, of sum 1.
	Coefficients, Degrees []float64

	// C is the offset of SkewedChiSquare.
	C float64
}

// clone returns e with matrices of its own.
func (e Estimator) clone() Estimator {
	for _, m := range []*dense.Matrix[float64]{&e.Query, &e.Key, &e.Basis} {
		if m.Rows > 0 {
			*m = m.Clone()
		}
	}
	for _, v := range []*[]float64{&e.Damping, &e.Coefficients, &e.Degrees} {
		*v = slices.Clone(*v)
	}
	return e
}

// Estimator returns the estimate that f and f.Keys() compute, in memory of its own.
// Maps whose error has no closed form, those of New and SoftmaxHybrid with a gate that is not
// orf.IID, and maps without randomness have FormUnknown.
func (f *Features[T]) Estimator() Estimator { return f.estimator.clone() }

// Estimator returns the estimate that f and f.Keys() compute, in memory of its own. ELU,
// which is exact, has FormUnknown.
func (f *Positive[T]) Estimator() Estimator { return f.estimator.clone() }

// Estimator returns the estimate that f computes, in memory of its own. PolynomialOf,
// whose error depends on the projections, has FormUnknown.
func (f *Products[T]) Estimator() Estimator { return f.estimator.clone() }

// Projection returns the frequencies that the map was made of, those of the gate of
// SoftmaxHybrid not among them, or nil if there are none.
func (f *Features[T]) Projection() orf.Projection[T] { return f.given }

// Projection returns the frequencies that the map was made of, or nil if there are none.
func (f *Positive[T]) Projection() orf.Projection[T] { return f.given }
