package validate

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/internal/laws"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// errorAt is the mean squared error at x and y with m frequencies, and the same over the
// square of the kernel, nil if that takes the kernel.
type errorAt struct {
	mse, overKernel laws.Law
}

// images returns the errors at (Px, Qy) for the matrices of e, if it has any.
func (f errorAt) images(e rff.Estimator) errorAt {
	if e.Query.Rows == 0 {
		return f
	}
	f.mse = laws.OfImages(f.mse, e.Query, e.Key)
	if f.overKernel != nil {
		f.overKernel = laws.OfImages(f.overKernel, e.Query, e.Key)
	}
	return f
}

// known is a law with where it was published, which may depend on parameters.
type known struct {
	// at returns a nil mse where parameters have no law.
	at     func(e rff.Estimator, g orf.Ensemble) errorAt
	source string
	fixed  bool // holds for frequencies of fixed length too
	waves  bool // a sketch with two features a frequency
}

// perFrequency returns the number of features that one frequency of a sketch makes.
func (k known) perFrequency() int {
	if k.waves {
		return 2
	}
	return 1
}

// of returns the law of the estimator of a kernel with n frequencies, which is unbiased.
func (k known) of(e rff.Estimator, g orf.Ensemble, name string, n int, kernel kernels.Kernel) (estimateLaw, bool) {
	f := k.at(e, g)
	if f.mse == nil {
		return estimateLaw{}, false
	}
	f = f.images(e)
	l := estimateLaw{name: name, kernel: kernel, at: func(x, y []float64) (mean, mse float64, ok bool) {
		return kernel.Eval(x, y), f.mse(scaled(e.Scale, x), scaled(e.Scale, y), n), true
	}}
	if f.overKernel != nil {
		l.overKernel = func(x, y []float64) float64 { return f.overKernel(scaled(e.Scale, x), scaled(e.Scale, y), n) }
	}
	return l, true
}

// scaled returns √s·x, x itself for a form without a scale. Coordinates beyond the range of
// float64 stay at its end, where the laws are at their limits.
func scaled(s float64, x []float64) []float64 {
	if s == 0 || s == 1 {
		return x
	}
	y := floats.ScaleTo(make([]float64, len(x)), math.Sqrt(s), x)
	for i, v := range y {
		if math.IsInf(v, 0) && !math.IsInf(x[i], 0) {
			y[i] = math.Copysign(math.MaxFloat64, v)
		}
	}
	return y
}

func closed(l laws.Law, source string) known {
	return known{at: func(rff.Estimator, orf.Ensemble) errorAt { return errorAt{mse: l} }, source: source}
}

// unit is what exponential features estimate.
type unit func(l laws.ExponentialLaw) laws.Law

func gaussianKernel(l laws.ExponentialLaw) laws.Law { return l.Gaussian }

func softmaxKernel(l laws.ExponentialLaw) laws.Law { return l.Softmax }

// exponential is a law of exponential features, which may depend on parameters.
func exponential(of unit, l func(e rff.Estimator) laws.ExponentialLaw, source string) known {
	return known{at: func(e rff.Estimator, _ orf.Ensemble) errorAt {
		return errorAt{mse: of(l(e)), overKernel: l(e).Relative}
	}, source: source}
}

// plainly is a law without parameters.
func plainly(l laws.ExponentialLaw) func(rff.Estimator) laws.ExponentialLaw {
	return func(rff.Estimator) laws.ExponentialLaw { return l }
}

// ofA is a law with the parameter a.
func ofA(l func(a float64) laws.ExponentialLaw) func(rff.Estimator) laws.ExponentialLaw {
	return func(e rff.Estimator) laws.ExponentialLaw { return l(e.A) }
}

func dot(l func(factors int, lengths laws.Lengths) laws.Law, source string) known {
	return known{at: func(_ rff.Estimator, g orf.Ensemble) errorAt {
		_, factors, fixedLength := parameters(g)
		if fixedLength {
			return errorAt{mse: l(factors, laws.Fixed)}
		}
		return errorAt{mse: l(factors, laws.Chi)}
	}, source: source, fixed: true}
}

// parameters returns the zero value of the type of g, and the fields of g. The factors of
// orf.Givens are its rotations.
func parameters(g orf.Ensemble) (family orf.Ensemble, factors int, fixedLength bool) {
	switch g := g.(type) {
	case orf.IID:
		return orf.IID{}, 0, g.FixedLength
	case orf.GramSchmidt:
		return orf.GramSchmidt{}, 0, g.FixedLength
	case orf.Simplex:
		return orf.Simplex{}, 0, g.FixedLength
	case orf.Hadamard:
		return orf.Hadamard{}, g.Factors, g.FixedLength
	case orf.Givens:
		return orf.Givens{}, g.Rotations, g.FixedLength
	case orf.Fastfood:
		return orf.Fastfood{}, 0, g.FixedLength
	}
	return g, 0, false
}

// signs is a law of features that the lengths of frequencies are nothing to.
func signs(l laws.Law, source string) known {
	k := closed(l, source)
	k.fixed = true
	return k
}

// What the literature has, and what follows from the covariance of two rows as package
// laws derives it.
const (
	sutherland = "Sutherland & Schneider 2015"
	performers = "Choromanski et al. 2021"
	favorPlus  = "Likhosherstov et al. 2022"
	favorSharp = "Likhosherstov et al. 2023"
	hybrids    = "Choromanski et al. 2022"
	embeddings = "Choromanski, Rowland & Weller 2017"
	covariance = "from the covariance of two rows"
	binomial   = "binomial"
)

// kinds are the laws of exponential features over the frequencies that have one.
func kinds(of unit, iid, haar, simplex func(rff.Estimator) laws.ExponentialLaw, source string) map[orf.Ensemble]known {
	return map[orf.Ensemble]known{
		orf.IID{}:         exponential(of, iid, source),
		orf.GramSchmidt{}: exponential(of, haar, covariance),
		orf.Simplex{}:     exponential(of, simplex, covariance),
	}
}

var theory = map[rff.Form]map[orf.Ensemble]known{
	rff.FormGaussian:           kinds(gaussianKernel, plainly(laws.TrigIID), plainly(laws.TrigORF), plainly(laws.TrigSimplex), sutherland),
	rff.FormGaussianPhase:      kinds(gaussianKernel, plainly(laws.PhaseIID), plainly(laws.PhaseORF), plainly(laws.PhaseSimplex), sutherland),
	rff.FormGaussianPositive:   kinds(gaussianKernel, plainly(laws.PositiveIID), plainly(laws.PositiveORF), plainly(laws.PositiveSimplex), favorPlus),
	rff.FormGaussianHyperbolic: kinds(gaussianKernel, plainly(laws.HyperbolicIID), plainly(laws.HyperbolicORF), plainly(laws.HyperbolicSimplex), favorPlus),
	rff.FormGaussianOptimal:    kinds(gaussianKernel, ofA(laws.OptimalIID), ofA(laws.OptimalORF), ofA(laws.OptimalSimplex), favorPlus),
	rff.FormSoftmaxTrig:        kinds(softmaxKernel, plainly(laws.TrigIID), plainly(laws.TrigORF), plainly(laws.TrigSimplex), performers),
	rff.FormSoftmaxPositive:    kinds(softmaxKernel, plainly(laws.PositiveIID), plainly(laws.PositiveORF), plainly(laws.PositiveSimplex), performers),
	rff.FormSoftmaxHyperbolic:  kinds(softmaxKernel, plainly(laws.HyperbolicIID), plainly(laws.HyperbolicORF), plainly(laws.HyperbolicSimplex), performers),
	rff.FormSoftmaxOptimal:     kinds(softmaxKernel, ofA(laws.OptimalIID), ofA(laws.OptimalORF), ofA(laws.OptimalSimplex), favorPlus),
	rff.FormSoftmaxDamped: {
		orf.IID{}: exponential(softmaxKernel, func(e rff.Estimator) laws.ExponentialLaw { return laws.DampedIID(e.Damping, e.Basis) }, favorSharp),
	},
	rff.FormSoftmaxHybrid: {
		orf.IID{}: exponential(softmaxKernel, func(e rff.Estimator) laws.ExponentialLaw { return laws.HybridIID(e.Gates) }, hybrids),
	},
	rff.FormDotProduct: {
		orf.IID{}: closed(laws.DotProductIID, embeddings),
		orf.GramSchmidt{}: dot(func(_ int, lengths laws.Lengths) laws.Law {
			return func(x, y []float64, m int) float64 {
				if lengths == laws.Chi {
					return laws.DotProductORF(x, y, m)
				}
				return laws.DotProductHaar(x, y, m, lengths)
			}
		}, embeddings),
		orf.Simplex{}: dot(func(_ int, lengths laws.Lengths) laws.Law {
			return func(x, y []float64, m int) float64 { return laws.DotProductSimplex(x, y, m, lengths) }
		}, covariance),
		orf.Hadamard{}: dot(func(factors int, lengths laws.Lengths) laws.Law {
			return func(x, y []float64, m int) float64 { return laws.DotProductHadamard(x, y, m, factors, lengths) }
		}, embeddings),
		orf.Givens{}: dot(func(factors int, lengths laws.Lengths) laws.Law {
			return func(x, y []float64, m int) float64 { return laws.DotProductGivens(x, y, m, factors, lengths) }
		}, covariance),
		orf.Fastfood{}: dot(func(_ int, lengths laws.Lengths) laws.Law {
			return func(x, y []float64, m int) float64 { return laws.DotProductFastfood(x, y, m, lengths) }
		}, covariance),
	},
	rff.FormAngular: {
		orf.IID{}:         signs(laws.AngularIID, binomial),
		orf.GramSchmidt{}: signs(laws.AngularORF, covariance),
	},
	rff.FormMatern: {
		orf.IID{}: {at: func(e rff.Estimator, _ orf.Ensemble) errorAt { return errorAt{mse: laws.MaternIID(e.Nu)} }, source: sutherland},
	},
	rff.FormArcCosine: {
		orf.IID{}: {at: func(e rff.Estimator, _ orf.Ensemble) errorAt {
			switch e.Order {
			case 0:
				return errorAt{mse: laws.StepIID}
			case 1:
				return errorAt{mse: laws.ArcCosineIID}
			}
			return errorAt{}
		}, source: "after Cho & Saul 2009"},
	},
	rff.FormGeneralised: {
		orf.IID{}: {at: func(e rff.Estimator, _ orf.Ensemble) errorAt {
			switch e.Nonlinearity {
			case kernels.ReLU:
				return errorAt{mse: laws.ReLUIID}
			case kernels.Square:
				return errorAt{mse: laws.SquareIID}
			}
			return errorAt{mse: laws.ExponentialIID}
		}, source: "Gaussian moments"},
	},
}

// sketches are the laws of maps that draw weights of their own, with m features. Packages
// laws and rff number the laws of weights alike, which the test of each of them shows.
var sketches = map[rff.Form]known{
	rff.FormLaplacian: {at: func(rff.Estimator, orf.Ensemble) errorAt { return errorAt{mse: laws.LaplacianIID} }, source: sutherland, waves: true},
	rff.FormPolynomialSketch: {at: func(e rff.Estimator, _ orf.Ensemble) errorAt {
		return errorAt{mse: lifted(e.Polynomial, laws.Polynomial(e.Polynomial.Degree, laws.Weights(e.Weights)))}
	}, source: "Kar & Karnick 2012, Wacker, Ohana & Filippone 2023"},
	rff.FormMaclaurin: {at: func(e rff.Estimator, _ orf.Ensemble) errorAt {
		return errorAt{mse: laws.Maclaurin(e.Coefficients, e.Degrees, laws.Weights(e.Weights))}
	}, source: "Kar & Karnick 2012"},
	rff.FormTensorSketch: {at: func(e rff.Estimator, _ orf.Ensemble) errorAt {
		return errorAt{mse: lifted(e.Polynomial, laws.TensorSketch(e.Polynomial.Degree))}
	}, source: "from the moments of signs and buckets"},
	rff.FormSkewedChiSquare: {at: func(e rff.Estimator, _ orf.Ensemble) errorAt { return errorAt{mse: laws.SkewedChiSquareIID(e.C)} }, source: sutherland},
}

// lifted returns the law for (γ·xᵀy + c)^p of one for (xᵀy)^p: that of the points
// [√γ·x, √c].
func lifted(k kernels.Polynomial, l laws.Law) laws.Law {
	gamma := cmp.Or(k.Gamma, 1)
	return func(x, y []float64, m int) float64 {
		lift := func(x []float64) []float64 {
			return append(slices.Clone(scaled(gamma, x)), math.Sqrt(k.Offset))
		}
		return l(lift(x), lift(y), m)
	}
}
