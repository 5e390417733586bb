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
// An error reports a d below 1, or too large for memory.
func Identity[T dense.Float](d int) (Map[T], error) { return identityRecipe[T]{d}.make() }

// identityRecipe is what Identity is made of.
type identityRecipe[T dense.Float] struct{ D int }

func (r identityRecipe[T]) make() (Map[T], error) {
	d := r.D
	if err := size[T]("d", d); err != nil {
		return nil, err
	}
	e := explicit[T](d, d)
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
// An error reports a d below 1, and one with features too many for memory.
func Quadratic[T dense.Float](d int) (Map[T], error) { return quadraticRecipe[T]{d}.make() }

// quadraticRecipe is what Quadratic is made of.
type quadraticRecipe[T dense.Float] struct{ D int }

func (r quadraticRecipe[T]) make() (Map[T], error) {
	d := r.D
	out, err := monomials[T](d)
	if err != nil {
		return nil, err
	}
	e := explicit[T](d, out)
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
// An error reports a d below 1, one with features too many for memory, and a scale that is not a
// positive number in the range of T.
func Taylor[T dense.Float](d int, scale float64) (Map[T], error) {
	return taylorRecipe[T]{d, scale}.make()
}

// taylorRecipe is what Taylor is made of.
type taylorRecipe[T dense.Float] struct {
	D     int
	Scale float64
}

func (t taylorRecipe[T]) make() (Map[T], error) {
	d, scale := t.D, t.Scale
	pairs, err := monomials[T](d)
	if err != nil {
		return nil, err
	}
	r, err := root[T]("scale", scale)
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
		}, mse.Law{}).of(t),
		row: func(phi, x []T, _, _ int) {
			phi[0] = 1
			linear := phi[1 : 1+d]
			for i, v := range x {
				linear[i] = r * v
			}
			quadratic(phi[1+d:], x, half)
		},
		back: rowwise(e, func(dx, x, g []T) {
			zero := 0 * g[0] // NaN for what a constant would hide
			for i, v := range g[1 : 1+d] {
				dx[i] = r*v + zero
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
