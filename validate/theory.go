package validate

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/laws"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// Prediction is what theory says of an estimate.
type Prediction struct {
	// MSE is the exact mean squared error over draws of the frequencies; NaN if no law is
	// known.
	MSE float64

	// Law says of which features over which frequencies it is the law, and where it was
	// published; "" if none is known.
	Law string
}

// String returns the error and its law.
func (p Prediction) String() string {
	if p.Law == "" {
		return "no law is known"
	}
	return fmt.Sprintf("%.6g: %s", p.MSE, p.Law)
}

// Theory returns the exact mean squared error, over draws of the frequencies, of the
// estimate φ(x)ᵀψ(y) of the kernel at one pair of points, for the map m and with ψ =
// rff.Keys(m), if its frequencies are drawn as those of w are; a nil w stands for
// those that m was made of. Neither the values of the frequencies nor their number in m
// matter, only their law and their number in w.
//
// Laws are known for maps that this module makes, as their Estimator tells, over
// frequencies whose Ensemble is one of those:
//
//   - Gaussian, SoftmaxTrig, their positive, hyperbolic and optimal features, SADERF and
//     ADERF: iid, Haar orthogonal and simplex rows;
//   - GaussianPhase and Angular: iid and Haar orthogonal rows, GaussianPhase also simplex;
//   - SDERF, SoftmaxHybrid, ArcCosine of order 1 and Generalised without ε: iid rows;
//   - PolynomialSketch, Maclaurin, TensorSketch and SkewedChiSquare, which draw weights of
//     their own: w does not matter;
//   - DotProduct: all kinds but quasi-Monte-Carlo points.
//
// Products of Hadamard factors or of Givens rotations are only nearly Haar: they have no
// law but that of DotProduct. The law of another pair, or of frequencies of fixed length
// that a kernel depends on, is not known: the MSE is NaN then, and Law is "".
//
// Each law is exact for finite d and m, parts of blocks included. It is a closed form,
// or a hypergeometric series summed until the rest is below 2⁻⁶⁰ of the sum; errors
// come of terms that do not cancel, so that they keep 10 digits and more for points close
// together or opposite too, with the exception of Angular, whose quadrature has an error
// of 1e-12. The cost is O(d) operations and those of a series, O(‖x+y‖² + 1), for SADERF
// and ADERF O(d²). Points beyond the range of the exponential give ±Inf or NaN.
//
// It panics if x and y are not points of the dimension of m and w.
func Theory[T dense.Float](m rff.Map[T], w orf.Projection[T], x, y []float64) Prediction {
	none := Prediction{MSE: math.NaN()}
	estimating, ok := m.(interface{ Estimator() rff.Estimator })
	if !ok {
		return none
	}
	in, out := m.Dims()
	if len(x) != in || len(y) != in {
		panic(fmt.Sprintf("validate: x has length %d, y has length %d, want points of R^%d", len(x), len(y), in))
	}
	e := estimating.Estimator()
	if l, ok := sketches[e.Form]; ok {
		return Prediction{MSE: l.at(e, orf.Ensemble{})(x, y, out), Law: fmt.Sprintf("%v [%s]", e.Form, l.source)}
	}
	if w == nil {
		made, ok := m.(interface{ Projection() orf.Projection[T] })
		if !ok {
			return none
		}
		w = made.Projection()
	}
	drawn, ok := w.(orf.Drawn[T])
	if !ok {
		return none
	}
	n, d := w.Dims()
	if d != in {
		panic(fmt.Sprintf("validate: w is %d×%d, want frequencies of R^%d", n, d, in))
	}
	g := drawn.Ensemble()
	l, ok := theory[e.Form][g.Kind]
	if !ok || g.FixedLength && !l.fixed || e.Form == rff.FormArcCosine && e.Order != 1 {
		return none
	}
	law := l.at(e, g)
	if e.Query.Rows > 0 {
		law = laws.OfImages(law, e.Query, e.Key)
	}
	return Prediction{
		MSE: law(scaled(e.Scale, x), scaled(e.Scale, y), n),
		Law: fmt.Sprintf("%v, %v frequencies [%s]", e.Form, g.Kind, l.source),
	}
}

// scaled returns √s·x, x itself for a form without a scale.
func scaled(s float64, x []float64) []float64 {
	if s == 0 || s == 1 {
		return x
	}
	return floats.ScaleTo(make([]float64, len(x)), math.Sqrt(s), x)
}

// law is the mean squared error at (x, y) with m frequencies.
type law = func(x, y []float64, m int) float64

// known is a law with where it was published, which may depend on parameters.
type known struct {
	at     func(e rff.Estimator, g orf.Ensemble) law
	source string
	fixed  bool // holds for frequencies of fixed length too
}

func closed(l law, source string) known {
	return known{at: func(rff.Estimator, orf.Ensemble) law { return l }, source: source}
}

func optimal(l func(a float64) func(x, y []float64, m int) float64, source string) known {
	return known{at: func(e rff.Estimator, _ orf.Ensemble) law { return l(e.A) }, source: source}
}

func dot(l func(g orf.Ensemble, lengths laws.Lengths) law, source string) known {
	return known{at: func(_ rff.Estimator, g orf.Ensemble) law {
		if g.FixedLength {
			return l(g, laws.Fixed)
		}
		return l(g, laws.Chi)
	}, source: source, fixed: true}
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
)

var theory = map[rff.Form]map[orf.Kind]known{
	rff.FormGaussian: {
		orf.Independent:    closed(laws.GaussianIID, sutherland),
		orf.HaarOrthogonal: closed(laws.GaussianORF, covariance),
		orf.HaarSimplex:    closed(laws.GaussianSimplex, covariance),
	},
	rff.FormGaussianPhase: {
		orf.Independent:    closed(laws.GaussianPhaseIID, sutherland),
		orf.HaarOrthogonal: closed(laws.GaussianPhaseORF, covariance),
		orf.HaarSimplex:    closed(laws.GaussianPhaseSimplex, covariance),
	},
	rff.FormGaussianPositive: {
		orf.Independent:    closed(laws.GaussianPositiveIID, favorPlus),
		orf.HaarOrthogonal: closed(laws.GaussianPositiveORF, covariance),
		orf.HaarSimplex:    closed(laws.GaussianPositiveSimplex, covariance),
	},
	rff.FormGaussianHyperbolic: {
		orf.Independent:    closed(laws.GaussianHyperbolicIID, favorPlus),
		orf.HaarOrthogonal: closed(laws.GaussianHyperbolicORF, covariance),
		orf.HaarSimplex:    closed(laws.GaussianHyperbolicSimplex, covariance),
	},
	rff.FormGaussianOptimal: {
		orf.Independent:    optimal(laws.GaussianOptimalIID, favorPlus),
		orf.HaarOrthogonal: optimal(laws.GaussianOptimalORF, covariance),
		orf.HaarSimplex:    optimal(laws.GaussianOptimalSimplex, covariance),
	},
	rff.FormSoftmaxTrig: {
		orf.Independent:    closed(laws.SoftmaxTrigIID, performers),
		orf.HaarOrthogonal: closed(laws.SoftmaxTrigORF, covariance),
		orf.HaarSimplex:    closed(laws.SoftmaxTrigSimplex, covariance),
	},
	rff.FormSoftmaxPositive: {
		orf.Independent:    closed(laws.SoftmaxPositiveIID, performers),
		orf.HaarOrthogonal: closed(laws.SoftmaxPositiveORF, covariance),
		orf.HaarSimplex:    closed(laws.SoftmaxPositiveSimplex, covariance),
	},
	rff.FormSoftmaxHyperbolic: {
		orf.Independent:    closed(laws.SoftmaxHyperbolicIID, performers),
		orf.HaarOrthogonal: closed(laws.SoftmaxHyperbolicORF, covariance),
		orf.HaarSimplex:    closed(laws.SoftmaxHyperbolicSimplex, covariance),
	},
	rff.FormSoftmaxOptimal: {
		orf.Independent:    optimal(laws.SoftmaxOptimalIID, favorPlus),
		orf.HaarOrthogonal: optimal(laws.SoftmaxOptimalORF, covariance),
		orf.HaarSimplex:    optimal(laws.SoftmaxOptimalSimplex, covariance),
	},
	rff.FormSoftmaxDamped: {
		orf.Independent: {at: func(e rff.Estimator, _ orf.Ensemble) law {
			return laws.SoftmaxDampedIID(e.Damping, e.Basis)
		}, source: favorSharp},
	},
	rff.FormSoftmaxHybrid: {
		orf.Independent: {at: func(e rff.Estimator, _ orf.Ensemble) law { return laws.SoftmaxHybridIID(e.Gates) }, source: hybrids},
	},
	rff.FormDotProduct: {
		orf.Independent: closed(laws.DotProductIID, embeddings),
		orf.HaarOrthogonal: dot(func(_ orf.Ensemble, lengths laws.Lengths) law {
			return func(x, y []float64, m int) float64 {
				if lengths == laws.Chi {
					return laws.DotProductORF(x, y, m)
				}
				return laws.DotProductHaar(x, y, m, lengths)
			}
		}, embeddings),
		orf.HaarSimplex: dot(func(_ orf.Ensemble, lengths laws.Lengths) law {
			return func(x, y []float64, m int) float64 { return laws.DotProductSimplex(x, y, m, lengths) }
		}, covariance),
		orf.HadamardProduct: dot(func(g orf.Ensemble, lengths laws.Lengths) law {
			return func(x, y []float64, m int) float64 { return laws.DotProductHadamard(x, y, m, g.Factors, lengths) }
		}, embeddings),
		orf.GivensProduct: dot(func(g orf.Ensemble, lengths laws.Lengths) law {
			return func(x, y []float64, m int) float64 { return laws.DotProductGivens(x, y, m, g.Factors, lengths) }
		}, covariance),
		orf.FastfoodProduct: dot(func(_ orf.Ensemble, lengths laws.Lengths) law {
			return func(x, y []float64, m int) float64 { return laws.DotProductFastfood(x, y, m, lengths) }
		}, covariance),
	},
	rff.FormAngular: {
		orf.Independent:    signs(laws.AngularIID, "binomial"),
		orf.HaarOrthogonal: signs(laws.AngularORF, covariance),
	},
	rff.FormArcCosine: {
		orf.Independent: closed(laws.ArcCosineIID, "after Cho & Saul 2009"),
	},
	rff.FormGeneralised: {
		orf.Independent: {at: func(e rff.Estimator, _ orf.Ensemble) law {
			switch e.Nonlinearity {
			case kernels.ReLU:
				return laws.ReLUIID
			case kernels.Square:
				return laws.SquareIID
			}
			return laws.ExponentialIID
		}, source: "Gaussian moments"},
	},
}

// sketches are the laws of maps that draw weights of their own, with m features. Packages
// laws and rff number the laws of weights alike, which the test of each of them shows.
var sketches = map[rff.Form]known{
	rff.FormPolynomialSketch: {at: func(e rff.Estimator, _ orf.Ensemble) law {
		return lifted(e.Polynomial, laws.Polynomial(e.Polynomial.Degree, laws.Weights(e.Weights)))
	}, source: "Kar & Karnick 2012, Wacker, Ohana & Filippone 2023"},
	rff.FormMaclaurin: {at: func(e rff.Estimator, _ orf.Ensemble) law {
		return laws.Maclaurin(e.Coefficients, e.Degrees, laws.Weights(e.Weights))
	}, source: "Kar & Karnick 2012"},
	rff.FormTensorSketch: {at: func(e rff.Estimator, _ orf.Ensemble) law {
		return lifted(e.Polynomial, laws.TensorSketch(e.Polynomial.Degree))
	}, source: "from the moments of signs and buckets"},
	rff.FormSkewedChiSquare: {at: func(e rff.Estimator, _ orf.Ensemble) law { return laws.SkewedChiSquareIID(e.C) }, source: sutherland},
}

// lifted returns the law for (γ·xᵀy + c)^p of one for (xᵀy)^p: that of the points
// [√γ·x, √c].
func lifted(k kernels.Polynomial, l law) law {
	gamma := cmp.Or(k.Gamma, 1)
	lift := func(x []float64) []float64 {
		return append(floats.ScaleTo(make([]float64, len(x)), math.Sqrt(gamma), x), math.Sqrt(k.Offset))
	}
	return func(x, y []float64, m int) float64 { return l(lift(x), lift(y), m) }
}

// signs is a law of features that the lengths of frequencies are nothing to.
func signs(l law, source string) known {
	k := closed(l, source)
	k.fixed = true
	return k
}
