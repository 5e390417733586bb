package rff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// PolynomialSketch returns the product features of the polynomial kernel (γ·xᵀy + c)^p of k [Kar &
// Karnick 2012],
//
//	φ(x) = 1/√m · [Π_{t≤p} w_1tᵀx̃ … Π_{t≤p} w_mtᵀx̃],  x̃ = [√γ·x, √c],
//
// R^d → R^m, where the coordinates of the m·p vectors w are drawn from src and have the given law.
// For c = 0 nothing is appended. Complex laws, for even m, make m/2 complex features, √(2/m) times
// such products. The features of the map are their real parts, then their imaginary parts [Wacker,
// Ohana & Filippone 2023].
//
// It is unbiased. With s = x̃ᵀỹ, N = ‖x̃‖²‖ỹ‖² and Q = Σ x̃_i²ỹ_i² the mean squared error is
//
//	law                       m·MSE
//	RademacherWeights         (N + 2s² − 2Q)^p − s^(2p)
//	GaussianWeights           (N + 2s²)^p − s^(2p)
//	ComplexRademacherWeights  (N + s² − Q)^p + (2s² − Q)^p − 2s^(2p)
//	ComplexGaussianWeights    (N + s²)^p + (2s²)^p − 2s^(2p)
//
// It grows exponentially in p: at x = y, s = 1 it is 3^p − 1 for GaussianWeights and 2^(p+1) − 2
// for ComplexGaussianWeights, and the error is heavy-tailed. TensorSketch is cheaper for many
// features of many dimensions.
//
// The cost of Transform is p matrix products, O(n·p·m·d).
//
// PolynomialSketch returns an error for an m or d below 1, an m, d or Degree too large for memory,
// parameters of k out of range and factors that are out of the range of T, an unknown law, an odd m
// for a complex law, and a nil src.
func PolynomialSketch[T dense.Float](m, d int, k kernels.Polynomial, law WeightLaw, src rand.Source) (Map[T], error) {
	return build[Map[T]](polynomialSketchDraw[T]{m, d, k, law, src})
}

// polynomialSketchDraw has the arguments of PolynomialSketch.
type polynomialSketchDraw[T dense.Float] struct {
	m, d int
	k    kernels.Polynomial
	law  WeightLaw
	src  rand.Source
}

func drawPolynomialSketch[T dense.Float](a polynomialSketchDraw[T]) (Map[T], error) {
	m, d, k := a.m, a.d, withDegree(a.k)
	if err := sketchable[T](m, d, k, a.src); err != nil {
		return nil, err
	}
	if err := a.law.validate(m); err != nil {
		return nil, err
	}
	lifted := d
	if k.Offset > 0 {
		lifted++
	}
	if err := cmp.Or(limit.Memory[orf.Projection[T]](k.Degree), limit.Memory[T](k.Degree, m, lifted)); err != nil {
		return nil, fmt.Errorf("rff: m = %d, d = %d, Polynomial.Degree = %d: %w", m, d, k.Degree, err)
	}
	w := make([]orf.Projection[T], k.Degree)
	for t := range w {
		var err error
		if w[t], err = orf.FromMatrix(drawWeights[T](a.law, m/a.law.parts(), lifted, a.src)); err != nil {
			return nil, err
		}
	}
	return newPolynomialSketch(polynomialSketchRecipe[T]{k, a.law, w})
}

// withDegree returns k with the degree that 0 stands for.
func withDegree(k kernels.Polynomial) kernels.Polynomial {
	k.Degree = cmp.Or(k.Degree, 3)
	return k
}

// polynomialSketchRecipe holds the parts of PolynomialSketch that a file stores.
type polynomialSketchRecipe[T dense.Float] struct {
	K   kernels.Polynomial
	Law WeightLaw
	W   []orf.Projection[T] // a factor each: real parts, then imaginary parts
}

func newPolynomialSketch[T dense.Float](r polynomialSketchRecipe[T]) (Map[T], error) {
	k, law := withDegree(r.K), r.Law
	m, d, err := factorDims(k, r.W)
	if err := cmp.Or(err, law.validate(m)); err != nil {
		return nil, err
	}
	f := newSketch[T](frame{name: fmt.Sprintf("PolynomialSketch(%v, %v)", k, law), kernel: k, in: d, out: m, recipe: r}, law.parts())
	gamma := cmp.Or(k.Gamma, 1)
	gain := 1 / math.Sqrt(float64(m/law.parts()))
	if k.Offset > 0 {
		if f.scale, err = root[T]("Polynomial.Gamma", gamma); err != nil {
			return nil, err
		}
		if f.constant, err = root[T]("Polynomial.Offset", k.Offset); err != nil {
			return nil, err
		}
	} else {
		gain *= math.Pow(gamma, float64(k.Degree)/2)
	}
	factor, err := inRange[T]("Polynomial.Gamma", gamma, gain)
	if err != nil {
		return nil, err
	}
	f.gains = slices.Repeat([]T{factor}, m)
	for _, w := range r.W {
		f.factors = append(f.factors, orf.Transposed(w))
	}
	f.law = mse.OfSketch("PolynomialSketch", "Kar & Karnick 2012, Wacker, Ohana & Filippone 2023", 1, m,
		mse.Lifted(gamma, k.Offset, mse.Polynomial(k.Degree, law.signs(), law.complex())))
	return f, nil
}

// factorDims returns the dimensions of features and points. It reports parameters of k out of range
// and projections that are no factors of k.
func factorDims[T dense.Float](k kernels.Polynomial, w []orf.Projection[T]) (m, d int, err error) {
	if err := argument.Kernel("rff: k", k); err != nil {
		return 0, 0, err
	}
	if len(w) != k.Degree {
		return 0, 0, fmt.Errorf("rff: %d projections w, want %d for %v", len(w), k.Degree, k)
	}
	var lifted int
	for t, p := range w {
		if p == nil {
			return 0, 0, fmt.Errorf("rff: w[%d] is nil, want a projection", t)
		}
		rows, cols := p.Shape()
		if t == 0 {
			m, lifted = rows, cols
		}
		if rows != m || cols != lifted {
			return 0, 0, fmt.Errorf("rff: w[%d] is %d×%d, w[0] is %d×%d, want the same", t, rows, cols, m, lifted)
		}
	}
	d = lifted
	if k.Offset > 0 {
		d--
	}
	if m < 1 || d < 1 {
		return 0, 0, fmt.Errorf("rff: w[0] is %d×%d, want at least 1×%d", m, lifted, 1+lifted-d)
	}
	return m, d, nil
}

// sketchable reports arguments that no sketch of k can have.
func sketchable[T dense.Float](m, d int, k kernels.Kernel, src rand.Source) error {
	return cmp.Or(size[T]("m", m), size[T]("d", d), argument.Kernel("rff: k", k), given(src))
}
