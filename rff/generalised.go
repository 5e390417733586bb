package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Generalised returns the features of the generalised attention kernel k [Choromanski et al. 2021],
//
//	φ(x) = 1/√m · [f(w₁ᵀx) + ε … f(w_mᵀx) + ε],
//
// R^d → R^m, for a nonlinearity f of package kernels: max(t, 0), t² or e^t. All features are at
// least 0, and the map is a LogMap. With ε = 0, features of ReLU are exactly 0 for half of all
// frequencies, and features of Square are 0 at x = 0. Their logarithm is −Inf. Attention takes
// this, and it takes rows of weights that are all 0. ε > 0 prevents zeros, and drags all weights
// towards an average. For Exponential, Transform overflows and underflows as it does for
// SoftmaxPositive, and LogTransform is linear in x when ε = 0.
//
// The map is unbiased for rows of w that are each N(0, I). With independent rows and ε = 0 the mean
// squared error is, for P = ‖x‖²‖y‖² and s = xᵀy,
//
//	ReLU         (P·(3·sin θ·cos θ + (π−θ)(1 + 2cos²θ))/(2π) − k²)/m
//	Square       (9P² + 72P·s² + 24s⁴ − k²)/m
//	Exponential  (exp(2‖x+y‖²) − exp(‖x+y‖²))/m
//
// The features of ReLU with ε = 0 are the features of ArcCosine of order 1 over √2. ArcCosine is
// not a LogMap, so attention on it takes no exponentials. It is faster, if no weight has to be
// saved from underflow.
//
// If a feature is exactly 0, attention gives it no weight, and LogBackward takes 0 for the
// derivative of its logarithm. A projection that is NaN gives NaN, and so does −Inf, which ReLU
// would hide. Features of Exponential are NaN if x has NaN or ±Inf, and e^(−Inf) of a finite x is
// 0.
//
// Generalised returns an error for a nil w, parameters of k out of range, or an ε out of the range
// of T.
func Generalised[T dense.Float](w orf.Projection[T], k kernels.Generalised) (LogMap[T], error) {
	return build[LogMap[T]](generalisedRecipe[T]{w, k})
}

// generalisedRecipe holds the parts of Generalised that a file stores.
type generalisedRecipe[T dense.Float] struct {
	W orf.Projection[T]
	K kernels.Generalised
}

func newGeneralised[T dense.Float](r generalisedRecipe[T]) (Map[T], error) {
	k := r.K
	e, err := newEngine(r.W, 1)
	if err != nil {
		return nil, err
	}
	if err := argument.Kernel("rff: k", k); err != nil {
		return nil, err
	}
	if k.Epsilon > 0 {
		if _, err := inRange[T]("Generalised.Epsilon", k.Epsilon, k.Epsilon); err != nil {
			return nil, err
		}
	}
	g := nonlinear[T]{f: k.F, epsilon: T(k.Epsilon), norm: T(1 / math.Sqrt(float64(e.out))), logNorm: T(-math.Log(float64(e.out)) / 2)}
	f := &positives[T]{
		features: features[T]{
			engine: e,
			frame:  e.named(fmt.Sprintf("Generalised(%v)", k), k, g.law()).of(r),
			row:    func(phi, x []T, from, to int) { g.features(phi[from:to], x) },
			back: throughZ(e, e.out, func(z, x, dphi []T) (a, b T) {
				g.slopes(z, x)
				vecmath.Multiply(z, dphi)
				return g.norm, 0
			}, scaled[T]),
		},
		logRow: func(phi, x []T, from, to int) { g.logarithms(phi[from:to], x) },
		logBack: throughZ(e, e.out, func(z, x, dlog []T) (a, b T) {
			g.logSlopes(z, x)
			vecmath.Multiply(z, dlog)
			return 1, 0
		}, scaled[T]),
	}
	if k.F == kernels.Exponential && k.Epsilon == 0 {
		f.logBack = linearSlope(e, T(1))
	}
	return f, nil
}

// nonlinear holds the functions of projections t.
type nonlinear[T dense.Float] struct {
	f             kernels.Nonlinearity
	epsilon       T
	norm, logNorm T // 1/√m and its logarithm
}

// law returns the law of the estimates. No law is known for ε > 0.
func (n nonlinear[T]) law() mse.Law {
	if n.epsilon > 0 {
		return mse.Law{}
	}
	f := map[kernels.Nonlinearity]mse.Error{
		kernels.ReLU: mse.ReLUIID, kernels.Square: mse.SquareIID, kernels.Exponential: mse.ExponentialIID,
	}[n.f]
	return mse.OfIID("Generalised", "Gaussian moments", 1, f)
}

// features overwrites t by (f(t) + ε)/√m.
func (n nonlinear[T]) features(t, x []T) {
	if n.f == kernels.Exponential && n.epsilon == 0 {
		n.logarithms(t, x)
		vecmath.Exp(t, t)
		return
	}
	n.values(t, x)
	vecmath.Scale(t, n.norm)
}

// logarithms overwrites t by log((f(t) + ε)/√m).
func (n nonlinear[T]) logarithms(t, x []T) {
	switch {
	case n.epsilon == 0 && n.f == kernels.Exponential:
		vecmath.Affine(t, t, 1, n.logNorm+nothing(x))
	case n.epsilon == 0 && n.f == kernels.Square:
		// t² would underflow.
		for j, v := range t {
			t[j] = T(2*math.Log(math.Abs(float64(v)))) + n.logNorm
		}
	case n.f == kernels.Exponential:
		// log(e^t + ε) = max + log(1 + e^(−|t − log ε|)), where e^t would overflow.
		log := T(math.Log(float64(n.epsilon)))
		zero := nothing(x)
		for j, v := range t {
			t[j] = max(v, log) + T(math.Log1p(math.Exp(-math.Abs(float64(v-log))))) + n.logNorm + zero
		}
	default:
		n.values(t, x)
		for j, v := range t {
			t[j] = T(math.Log(float64(v))) + n.logNorm
		}
	}
}

// values overwrites t by f(t) + ε.
func (n nonlinear[T]) values(t, x []T) {
	switch n.f {
	case kernels.ReLU:
		vecmath.Max0(t, 1)
		vecmath.Affine(t, t, 1, n.epsilon)
	case kernels.Square:
		vecmath.Multiply(t, t)
		vecmath.Affine(t, t, 1, n.epsilon)
	default:
		vecmath.Exp(t, t)
		vecmath.Affine(t, t, 1, n.epsilon+nothing(x))
	}
}

// slopes overwrites t by f′(t), where the derivative of ReLU at 0 is ½.
func (n nonlinear[T]) slopes(t, x []T) {
	switch n.f {
	case kernels.ReLU:
		vecmath.Sign(t, 0.5)
		vecmath.Affine(t, t, 1, 0.5)
	case kernels.Square:
		vecmath.Scale(t, 2)
	default:
		vecmath.Exp(t, t)
		vecmath.Affine(t, t, 1, nothing(x))
	}
}

// logSlopes overwrites t by f′(t)/(f(t) + ε), or 0 where f(t) + ε is 0.
func (n nonlinear[T]) logSlopes(t, x []T) {
	switch n.f {
	case kernels.ReLU:
		for j, v := range t {
			slope := v - v // NaN for NaN and ±Inf
			switch {
			case v > 0:
				slope += 1 / (v + n.epsilon)
			case v == 0 && n.epsilon > 0:
				slope = 0.5 / n.epsilon
			}
			t[j] = slope
		}
	case kernels.Square:
		for j, v := range t {
			slope := v - v
			if v != 0 {
				slope += 2 / (v + n.epsilon/v)
			}
			t[j] = slope
		}
	default:
		// 1/(1 + ε·e^(−t)), where e^t would overflow.
		vecmath.Scale(t, -1)
		vecmath.Exp(t, t)
		vecmath.Affine(t, t, n.epsilon, 1+nothing(x))
		for j, v := range t {
			t[j] = 1 / v
		}
	}
}
