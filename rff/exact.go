package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Identity returns φ(x) = x, R^d → R^d, with φ(x)ᵀφ(y) = xᵀy exactly. In its Transform dst may be
// x, in its Backward also dphi.
//
// Identity returns an error for a d below 1, or too large for memory.
func Identity[T dense.Float](d int) (Map[T], error) {
	return build[Map[T]](identityRecipe[T]{d})
}

// identityRecipe holds the parts of Identity that a file stores.
type identityRecipe[T dense.Float] struct{ D int }

func newIdentity[T dense.Float](r identityRecipe[T]) (Map[T], error) {
	if err := size[T]("d", r.D); err != nil {
		return nil, err
	}
	e := explicit[T](r.D, r.D)
	return &features[T]{
		engine: e,
		frame:  e.named("Identity()", kernels.DotProduct{}, mse.Law{}).of(r),
		row:    func(phi, x []T, _, _ int) { copy(phi, x) },
		back:   rowwise(e, func(dx, _, g []T) { copy(dx, g) }),
	}, nil
}

// Quadratic returns the explicit map of all monomials of degree 2,
//
//	φ(x) = [x₁², …, x_d², √2·x₁x₂, √2·x₁x₃, …, √2·x_{d−1}x_d],
//
// R^d → R^(d(d+1)/2), the pairs i < j in lexicographic order, with φ(x)ᵀφ(y) = (xᵀy)² to rounding.
//
// Quadratic returns an error for a d below 1, or with too many features for memory.
func Quadratic[T dense.Float](d int) (Map[T], error) {
	return build[Map[T]](quadraticRecipe[T]{d})
}

// quadraticRecipe holds the parts of Quadratic that a file stores.
type quadraticRecipe[T dense.Float] struct{ D int }

func newQuadratic[T dense.Float](r quadraticRecipe[T]) (Map[T], error) {
	out, err := monomials[T](r.D)
	if err != nil {
		return nil, err
	}
	e := explicit[T](r.D, out)
	return &features[T]{
		engine: e,
		frame:  e.named("Quadratic()", kernels.Polynomial{Degree: 2}, mse.Law{}).of(r),
		row:    func(phi, x []T, _, _ int) { quadratic(phi, x, 1) },
		back: rowwise(e, func(dx, x, g []T) {
			clear(dx)
			quadraticSlope(dx, x, g, 1)
		}),
	}, nil
}

// Taylor returns the explicit map of the Taylor series of the softmax kernel up to its second
// order, where s is scale,
//
//	φ(x) = [1, √s·x₁, …, √s·x_d, s/√2·x₁², …, s·x₁x₂, …],
//
// R^d → R^(1 + d + d(d+1)/2), with φ(x)ᵀφ(y) = 1 + s·xᵀy + (s·xᵀy)²/2 to rounding. That kernel is
// at least ½ everywhere, so its attention weights are positive, although some features are
// negative. The map has no variance. Its bias against exp(s·xᵀy) is about the next term,
// (s·xᵀy)³/6.
//
// Taylor returns an error for a d below 1 or with too many features for memory, and for a scale
// that is not a positive number in the range of T.
func Taylor[T dense.Float](d int, scale float64) (Map[T], error) {
	return build[Map[T]](taylorRecipe[T]{d, scale})
}

// taylorRecipe holds the parts of Taylor that a file stores.
type taylorRecipe[T dense.Float] struct {
	D     int
	Scale float64
}

func newTaylor[T dense.Float](r taylorRecipe[T]) (Map[T], error) {
	pairs, err := monomials[T](r.D)
	if err != nil {
		return nil, err
	}
	d, scale := r.D, r.Scale
	gain, err := root[T]("scale", scale)
	if err != nil {
		return nil, err
	}
	half, err := inRange[T]("scale", scale, scale/math.Sqrt2)
	if err != nil {
		return nil, err
	}
	e := explicit[T](d, 1+d+pairs)
	return &features[T]{
		engine: e,
		frame: e.named(fmt.Sprintf("Taylor(scale=%v)", scale), kernels.Sum{
			kernels.Polynomial{Degree: 1, Gamma: scale, Offset: 1},
			kernels.Scaled{K: kernels.Polynomial{Degree: 2, Gamma: scale}, By: 0.5},
		}, mse.Law{}).of(r),
		row: func(phi, x []T, _, _ int) {
			phi[0] = 1
			linear := phi[1 : 1+d]
			for i, v := range x {
				linear[i] = gain * v
			}
			quadratic(phi[1+d:], x, half)
		},
		back: rowwise(e, func(dx, x, g []T) {
			zero := 0 * g[0] // NaN for what a constant would hide
			for i, v := range g[1 : 1+d] {
				dx[i] = gain*v + zero
			}
			quadraticSlope(dx, x, g[1+d:], half)
		}),
	}, nil
}

// monomials returns d(d+1)/2. It reports a d below 1, and a d for which memory does not hold
// d(d+4)/2 features, because Taylor has d + 1 more.
func monomials[T dense.Float](d int) (int, error) {
	if err := size[T]("d", d); err != nil {
		return 0, err
	}
	if err := limit.Memory[T](d, d/2+2); err != nil {
		return 0, fmt.Errorf("rff: d = %d, for the features of all pairs of coordinates: %w", d, err)
	}
	return d * (d + 1) / 2, nil
}

// quadratic writes c times the monomials of degree 2 of x into phi.
func quadratic[T dense.Float](phi, x []T, c T) {
	d := len(x)
	mixed := T(math.Sqrt2) * c
	next := phi[d:]
	for i, v := range x {
		phi[i] = c * v * v
		a := mixed * v
		vecmath.Affine(next, x[i+1:], a, 0)
		next = next[d-i-1:]
	}
}

// ELU returns φ(x) = elu(x) + 1 of every coordinate [Katharopoulos et al. 2020],
//
//	φ(t) = t + 1 for t ≥ 0,  e^t for t < 0,
//
// R^d → R^d, the exact map of kernels.ELU. The exponential is not computed as (e^t − 1) + 1, which
// is 0 below t ≈ −17 in float32 and −37 in float64. φ is positive until e^t underflows.
// LogTransform gives log(1 + t) for t ≥ 0 and t itself for t < 0. t = −Inf gives NaN in both,
// because the feature 0 would hide it. dst may be x in every method, and in Backward and
// LogBackward it may be the gradient too.
//
// ELU returns an error for a d below 1, or too large for memory.
func ELU[T dense.Float](d int) (LogMap[T], error) {
	return build[LogMap[T]](eluRecipe[T]{d})
}

// eluRecipe holds the parts of ELU that a file stores.
type eluRecipe[T dense.Float] struct{ D int }

func newELU[T dense.Float](r eluRecipe[T]) (Map[T], error) {
	if err := size[T]("d", r.D); err != nil {
		return nil, err
	}
	e := explicit[T](r.D, r.D)
	return &positives[T]{
		features: features[T]{
			engine: e,
			frame:  e.named("ELU()", kernels.ELU{}, mse.Law{}).of(r),
			row:    func(phi, x []T, _, _ int) { vecmath.ELU(phi, x) },
			back:   rowwise(e, eluSlope[T]),
		},
		logRow:  func(phi, x []T, _, _ int) { vecmath.LogELU(phi, x) },
		logBack: rowwise(e, logELUSlope[T]),
	}, nil
}

// chunk is the length of the scratch array that eluSlope keeps on its stack.
const chunk = 128

// eluSlope is the derivative of elu(x) + 1, which is e^min(x, 0), times g. dx may be x or g.
func eluSlope[T dense.Float](dx, x, g []T) {
	var values [chunk]T
	for len(x) > 0 {
		n := min(len(x), chunk)
		v := values[:n]
		copy(v, x)
		vecmath.Scale(v, -1)
		vecmath.Max0(v, -1)
		vecmath.AddScaled(v, x[:n], 0) // NaN for ±Inf
		vecmath.Exp(v, v)
		copy(dx[:n], g)
		vecmath.Multiply(dx[:n], v)
		dx, x, g = dx[n:], x[n:], g[n:]
	}
}

// logELUSlope is the derivative of log(elu(x) + 1), 1/(1 + x) or 1, times g. dx may be x or g.
func logELUSlope[T dense.Float](dx, x, g []T) {
	g = g[:len(x)]
	for i, v := range x {
		// v − v is NaN for ±Inf and 0 for every number.
		dx[i] = g[i]/(1+max(v, 0)) + (v - v)
	}
}

// quadraticSlope adds the derivative of quadratic(phi, x, c), times g, to dx.
func quadraticSlope[T dense.Float](dx, x, g []T, c T) {
	d := len(x)
	mixed := T(math.Sqrt2) * c
	next := g[d:]
	for i, v := range x {
		of := next[:d-i-1]
		dx[i] += 2*c*v*g[i] + mixed*vecmath.Dot(of, x[i+1:])
		vecmath.AddScaled(dx[i+1:], of, mixed*v)
		next = next[d-i-1:]
	}
}
