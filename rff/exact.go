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

// Identity is the feature map φ(x) = x from R^d to R^d, with φ(x)ᵀφ(y) = xᵀy exactly. In Transform
// of Identity the argument dst may be x, and in Backward of Identity dst may be x or dphi.
type Identity struct {
	D int // d, at least 1
}

func (Identity) perFrequency() int { return 0 }
func (Identity) String() string    { return "Identity()" }

func identityMap[T dense.Float](s Identity, e engine[T]) (Map[T], error) {
	if err := size[T]("d", s.D); err != nil {
		return nil, err
	}
	e = e.of(s.D, s.D)
	row := func(phi, x []T, _, _ int) { copy(phi, x) }
	return newFeatures(e, kernels.DotProduct{}, mse.Law{}, row, rowwise(e, func(dx, _, g []T) { copy(dx, g) })), nil
}

// Quadratic is the map from R^d to R^(d(d+1)/2) of monomials of degree 2 with φ(x)ᵀφ(y) = (xᵀy)²,
// the products x_i·x_j of i < j in lexicographic order of (i, j):
//
//	φ(x) = [x₁², …, x_d², √2·x₁x₂, √2·x₁x₃, …, √2·x_{d−1}x_d].
type Quadratic struct {
	D int // d, at least 1
}

func (Quadratic) perFrequency() int { return 0 }
func (Quadratic) String() string    { return "Quadratic()" }

func quadraticMap[T dense.Float](s Quadratic, e engine[T]) (Map[T], error) {
	out, err := monomials[T](s.D)
	if err != nil {
		return nil, err
	}
	e = e.of(s.D, out)
	row := func(phi, x []T, _, _ int) { quadratic(phi, x) }
	return newFeatures(e, kernels.Polynomial{Degree: 2}, mse.Law{}, row, rowwise(e, func(dx, x, g []T) {
		clear(dx)
		quadraticSlope(dx, x, g)
	})), nil
}

// monomials returns d(d+1)/2.
func monomials[T dense.Float](d int) (int, error) {
	if err := size[T]("d", d); err != nil {
		return 0, err
	}
	if err := limit.Memory[T](d, d/2+1); err != nil {
		return 0, fmt.Errorf("rff: d = %d, for the features of all pairs of coordinates: %w", d, err)
	}
	return d * (d + 1) / 2, nil
}

func quadratic[T dense.Float](phi, x []T) {
	d := len(x)
	next := phi[d:]
	for i, v := range x {
		phi[i] = v * v
		vecmath.Affine(next, x[i+1:], T(math.Sqrt2)*v, 0)
		next = next[d-i-1:]
	}
}

// ELU is the feature map from R^d to R^d that maps every coordinate t to t + 1 for t ≥ 0 and to e^t
// for t < 0 [Katharopoulos et al. 2020]. Inner products of features of ELU equal kernels.ELU. The
// map of ELU is a LogMap, with the logarithm log(1 + t) for t ≥ 0 and t for t < 0. A coordinate
// −Inf gives NaN in Transform and LogTransform of ELU. In methods of ELU, dst may be another
// argument.
type ELU struct {
	D int // d, at least 1
}

func (ELU) perFrequency() int { return 0 }
func (ELU) String() string    { return "ELU()" }

func elu[T dense.Float](s ELU, e engine[T]) (Map[T], error) {
	if err := size[T]("d", s.D); err != nil {
		return nil, err
	}
	e = e.of(s.D, s.D)
	row, logRow := func(phi, x []T, _, _ int) { vecmath.ELU(phi, x) }, func(phi, x []T, _, _ int) { vecmath.LogELU(phi, x) }
	f := newFeatures(e, kernels.ELU{}, mse.Law{}, row, rowwise(e, eluSlope[T]))
	return &positives[T]{features: f, logRow: logRow, logBack: rowwise(e, logELUSlope[T])}, nil
}

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

func quadraticSlope[T dense.Float](dx, x, g []T) {
	d := len(x)
	next := g[d:]
	for i, v := range x {
		of := next[:d-i-1]
		dx[i] += 2*v*g[i] + T(math.Sqrt2)*vecmath.Dot(of, x[i+1:])
		vecmath.AddScaled(dx[i+1:], of, T(math.Sqrt2)*v)
		next = next[d-i-1:]
	}
}
