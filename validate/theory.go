package validate

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
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
//   - SDERF, SoftmaxHybrid, Matern, ArcCosine of order 0 and 1 and Generalised without ε: iid
//     rows;
//   - Laplacian, PolynomialSketch, Maclaurin, TensorSketch and SkewedChiSquare, which draw
//     weights of their own: w does not matter;
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
// of 1e-12. The cost is O(d) operations and those of O(√d) terms of a series, wherever the
// points are, for SADERF and ADERF O(d²). An error is +Inf or 0 if it is beyond the range of
// float64, and of finite points it is NaN only where the kernel has no value.
//
// It panics if x and y are not points of the dimension of m and w.
func Theory[T dense.Float](m rff.Map[T], w orf.Projection[T], x, y []float64) Prediction {
	if in, _ := m.Dims(); len(x) != in || len(y) != in {
		panic(fmt.Sprintf("validate: x has length %d, y has length %d, want points of R^%d", len(x), len(y), in))
	}
	l, ok := lawOf(m, w)
	if !ok {
		return Prediction{MSE: math.NaN()}
	}
	return Prediction{MSE: l.mse(x, y), Law: l.name}
}

// estimateLaw is what is known of the estimates of a map.
type estimateLaw struct {
	name string
	// mse is the mean squared error.
	mse func(x, y []float64) float64
	// overKernel is the same over k(x, y)², also where both are beyond the range of float64;
	// nil if that takes the kernel.
	overKernel func(x, y []float64) float64
}

// relative returns the error over k(x, y)².
func (l estimateLaw) relative(k kernels.Kernel, x, y []float64) float64 {
	if l.overKernel != nil {
		return l.overKernel(x, y)
	}
	mse := l.mse(x, y)
	if mse == 0 {
		return 0
	}
	v := math.Abs(k.Eval(x, y))
	if v == 0 || math.IsInf(v, 1) {
		return math.Inf(1)
	}
	return mse / v / v
}

// lawOf returns the law of the estimates of m with frequencies drawn as those of w, if one is
// known. It panics if w is not of the dimension of m.
func lawOf[T dense.Float](m rff.Map[T], w orf.Projection[T]) (estimateLaw, bool) {
	estimating, ok := m.(interface{ Estimator() rff.Estimator })
	if !ok {
		return estimateLaw{}, false
	}
	in, out := m.Dims()
	e := estimating.Estimator()
	if l, ok := sketches[e.Form]; ok {
		return l.of(e, orf.Ensemble{}, fmt.Sprintf("%v [%s]", e.Form, l.source), out/l.perFrequency())
	}
	if w == nil {
		made, ok := m.(interface{ Projection() orf.Projection[T] })
		if !ok {
			return estimateLaw{}, false
		}
		w = made.Projection()
	}
	drawn, ok := w.(orf.Drawn[T])
	if !ok {
		return estimateLaw{}, false
	}
	n, d := w.Dims()
	if d != in {
		panic(fmt.Sprintf("validate: w is %d×%d, want frequencies of R^%d", n, d, in))
	}
	g := drawn.Ensemble()
	l, ok := theory[e.Form][g.Kind]
	if !ok || g.FixedLength && !l.fixed {
		return estimateLaw{}, false
	}
	return l.of(e, g, fmt.Sprintf("%v, %v frequencies [%s]", e.Form, g.Kind, l.source), n)
}
