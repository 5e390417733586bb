package rff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// TensorSketch returns the features of the polynomial kernel (γ·xᵀy + c)^p of k that count-sketch
// the tensor power x̃⊗…⊗x̃ of x̃ = [√γ·x, √c] without forming it [Pham & Pagh 2013]: the circular
// convolution C₁x̃ * … * C_p x̃ of p count sketches, R^d → R^m. C_t adds coordinate i, times a
// random sign, to bucket h_t(i), uniform among m. Buckets and signs are drawn from src,
// independently for every t and i.
//
// For p > 1 the features are the coordinates of this convolution in the orthonormal basis of the
// real Fourier transform. The convolution is a product there, and inner products do not change:
//
//	φ(x) = 1/√m · [P₀, P_{m/2}, √2·Re P₁, √2·Re P₂, …, √2·Im P₁, √2·Im P₂, …],
//	P_k = Π_t F(C_t x̃)_k,  F(C_t x̃)_k = Σ_i ±x̃_i·exp(−2πi·k·h_t(i)/m),
//
// for 0 < k < m/2, with P_{m/2} for even m alone. For p = 1 they are C₁x̃ itself.
//
// The map is unbiased [Avron, Nguyen & Woodruff 2014]. With s = x̃ᵀỹ, b = ‖x̃‖²‖ỹ‖² − Q, c = s² −
// Q, Q = Σ x̃_i²ỹ_i², and g = 2 for even m, 1 for odd m, the mean squared error is
//
//	((s²+b)^p + (s²+c)^p − 2s^(2p))/m + g·((s²+b+c)^p − (s²+b)^p − (s²+c)^p + s^(2p))/m².
//
// Transform takes p matrix products, O(n·p·m·d), as for PolynomialSketch. From some hundred
// dimensions on, it takes p Fourier transforms for each row in place of the products, in float64
// for both T, O(n·p·(d + m·log m)) for m with small prime factors. The choice depends on T, m and d
// alone. For p = 1 Transform is O(n·d). The matrices take p·m·d numbers, the transforms p·d.
//
// TensorSketch returns an error for an m or d below 1, an m, d or Degree too large for memory,
// parameters of k out of range and factors that are out of the range of T, and a nil src.
func TensorSketch[T dense.Float](m, d int, k kernels.Polynomial, src rand.Source) (Map[T], error) {
	return build[Map[T]](tensorSketchDraw[T]{m, d, k, src})
}

// tensorSketchDraw has the arguments of TensorSketch.
type tensorSketchDraw[T dense.Float] struct {
	m, d int
	k    kernels.Polynomial
	src  rand.Source
}

func drawTensorSketch[T dense.Float](a tensorSketchDraw[T]) (Map[T], error) {
	m, d, k, src := a.m, a.d, withDegree(a.k), a.src
	if err := sketchable[T](m, d, k, src); err != nil {
		return nil, err
	}
	coordinates := d
	if k.Offset > 0 {
		coordinates++
	}
	if err := factorsFit[T](m, coordinates, k.Degree); err != nil {
		return nil, fmt.Errorf("rff: m = %d, d = %d, Polynomial.Degree = %d: %w", m, d, k.Degree, err)
	}
	r := tensorSketchRecipe[T]{K: k}
	for t := range k.Degree {
		c, err := drawCounts[T](m, d, coordinates, k, src)
		if err != nil {
			return nil, err
		}
		if k.Degree == 1 {
			r.W = append(r.W, c)
			break
		}
		s := &fourierSketch[T]{countSketch: c, norm: 1}
		if t == 0 {
			s.norm = math.Sqrt(float64(m))
		}
		w, err := s.projection()
		if err != nil {
			return nil, err
		}
		r.W = append(r.W, w)
	}
	return newTensorSketch(r)
}

// tensorSketchRecipe is what TensorSketch is made of: a count sketch, or the Fourier transforms of
// count sketches.
type tensorSketchRecipe[T dense.Float] struct {
	K kernels.Polynomial
	W []orf.Projection[T]
}

func newTensorSketch[T dense.Float](r tensorSketchRecipe[T]) (Map[T], error) {
	k := withDegree(r.K)
	m, d, err := factorDims(k, r.W)
	if err := cmp.Or(err, size[T]("m", m), size[T]("d", d)); err != nil {
		return nil, err
	}
	f := newSketch[T](frame{
		name: fmt.Sprintf("TensorSketch(%v)", k), kernel: k,
		law: mse.OfSketch("TensorSketch", "from the moments of signs and buckets", 1, m,
			mse.Lifted(cmp.Or(k.Gamma, 1), k.Offset, mse.TensorSketch(k.Degree))),
		in: d, out: m, recipe: r,
	}, 2)
	f.real = min(m, 2-m%2)
	if k.Offset > 0 {
		f.scale, f.constant = 1, 1
	}
	if k.Degree == 1 {
		f.parts, f.real = 1, 0
	}
	for _, w := range r.W {
		f.factors = append(f.factors, orf.Transposed(w))
	}
	return f, nil
}

// factorsFit returns an error if the count sketches, or the matrices that replace them, take more
// than 2⁴⁰ bytes.
func factorsFit[T dense.Float](m, coordinates, degree int) error {
	err := cmp.Or(limit.Memory[[3]float64](degree, coordinates), limit.Memory[fourierSketch[T]](degree))
	if err == nil && degree > 1 && coordinates <= matrixBelow[T](m) {
		err = limit.Memory[T](degree, m, coordinates)
	}
	return err
}

// countSketch is the projection x̃ → Cx̃.
type countSketch[T dense.Float] struct {
	m       int
	buckets []int     // of the coordinates of x̃, among m
	factors []float64 // of the coordinates: a sign, times √γ or √c
	rounded []T       // factors in T
}

// drawCounts draws a count sketch of x̃, which has d coordinates or one more for the constant.
func drawCounts[T dense.Float](m, d, coordinates int, k kernels.Polynomial, src rand.Source) (*countSketch[T], error) {
	gamma := cmp.Or(k.Gamma, 1)
	c := &countSketch[T]{m: m, buckets: make([]int, coordinates), factors: make([]float64, coordinates), rounded: make([]T, coordinates)}
	rng := rand.New(src)
	for i := range coordinates {
		name, square := "Polynomial.Gamma", gamma
		if i == d {
			name, square = "Polynomial.Offset", k.Offset
		}
		if _, err := root[T](name, square); err != nil {
			return nil, err
		}
		c.buckets[i], c.factors[i] = rng.IntN(m), math.Sqrt(square)
		if rng.Uint64()>>63 == 1 {
			c.factors[i] = -c.factors[i]
		}
		c.rounded[i] = T(c.factors[i])
	}
	return c, nil
}

// countSketchRecipe holds the parts of a countSketch that a file stores.
type countSketchRecipe[T dense.Float] struct {
	M       int
	Buckets []int
	Factors []float64
}

func (c *countSketch[T]) Recipe() (any, error) {
	return countSketchRecipe[T]{c.m, c.buckets, c.factors}, nil
}

func newCountSketch[T dense.Float](r countSketchRecipe[T]) (*countSketch[T], error) {
	n := len(r.Buckets)
	if err := cmp.Or(size[T]("m", r.M), atLeastOne("buckets", n), each("factors", r.Factors, n)); err != nil {
		return nil, err
	}
	c := &countSketch[T]{m: r.M, buckets: r.Buckets, factors: r.Factors, rounded: make([]T, n)}
	for i, b := range r.Buckets {
		if b < 0 || b >= r.M {
			return nil, fmt.Errorf("rff: buckets[%d] = %d, want 0 to %d", i, b, r.M-1)
		}
		c.rounded[i] = T(r.Factors[i])
	}
	return c, nil
}

func (c *countSketch[T]) Shape() (m, d int) { return c.m, len(c.buckets) }

func (c *countSketch[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, c.m)
	for i := range x.Rows {
		to := dst.Row(i)
		clear(to)
		for l, v := range x.Row(i) {
			to[c.buckets[l]] += c.rounded[l] * v
		}
	}
	return dst
}

func (c *countSketch[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, z.Rows, len(c.buckets))
	for i := range z.Rows {
		from, to := z.Row(i), dst.Row(i)
		for l, b := range c.buckets {
			to[l] = c.rounded[l] * from[b]
		}
	}
	return dst
}

func (c *countSketch[T]) Frequencies() dense.Matrix[T] {
	w := dense.New[T](c.m, len(c.buckets))
	for l, b := range c.buckets {
		w.Set(b, l, c.rounded[l])
	}
	return w
}
