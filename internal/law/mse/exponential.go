package mse

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
)

// The zero ExponentialLaw stands for a law that is not known.
type Exponential struct{ IID, Haar, Simplex ExponentialLaw }

// haar and simplex are the covariances of two terms of one block relative to the squared kernel.
func ofTerms(term func(z pair) product, haar, simplex func(z pair) float64) Exponential {
	over := func(covariance func(z pair) float64) ExponentialLaw {
		return ExponentialLaw{relative: func(z pair, m int) product {
			e := term(z)
			e.v = blocks(m, z.d, e.v, covariance(z))
			return e
		}}
	}
	return Exponential{IID: ofIID(term).IID, Haar: over(haar), Simplex: over(simplex)}
}

func ofIID(term func(z pair) product) Exponential {
	return Exponential{IID: ExponentialLaw{relative: func(z pair, m int) product {
		e := term(z)
		e.v /= float64(m)
		return e
	}}}
}

// After returns the laws of the estimates at (Px, Qy), for the d×d matrices P = query and Q = key
// with PᵀQ = I. The laws panic if points are not in R^d.
func (t Exponential) After(query, key dense.Matrix[float64]) Exponential {
	for _, l := range []*ExponentialLaw{&t.IID, &t.Haar, &t.Simplex} {
		l.before = func(x, y []float64) ([]float64, []float64) { return mapped(query, x), mapped(key, y) }
	}
	return t
}

// ExponentialLaw is the law of features that estimate the Gaussian kernel or, times e^(‖x‖²/2), the
// softmax kernel. Both estimates have the same error relative to the kernel.
type ExponentialLaw struct {
	relative func(z pair, m int) product
	before   func(x, y []float64) (px, qy []float64) // maps the points first, unless nil
}

func (l ExponentialLaw) Gaussian(x, y []float64, m int) float64 {
	return l.times(x, y, m, -1, 2)
}

func (l ExponentialLaw) Softmax(x, y []float64, m int) float64 {
	return l.times(x, y, m, 0, 2)
}

// Relative is the law of both divided by the square of the kernel, which may be out of range.
func (l ExponentialLaw) Relative(x, y []float64, m int) float64 {
	return l.times(x, y, m, 0, 0)
}

// times returns the relative error times exp(a·(‖x‖² + ‖y‖²) + b·xᵀy).
func (l ExponentialLaw) times(x, y []float64, m int, a, b float64) float64 {
	if l.before != nil {
		x, y = l.before(x, y)
	}
	z := newPair(x, y, m)
	e := l.relative(z, m)
	e.norms += a
	e.dot += b
	return e.value(z)
}

// product is v·exp(norms·(‖x‖² + ‖y‖²) + dot·xᵀy + c), whose factors may be out of range.
type product struct {
	v, norms, dot, c float64
}

func (e product) value(z pair) float64 {
	if e.v == 0 {
		return 0 // times e^Inf
	}
	// A quarter of an exponent within ±2800 has an exponential in range. Beyond ±2800 the product
	// is out of range for every v. Every step goes from v towards the product.
	exponent := math.Max(-2800, math.Min(2800, z.form(e.norms, e.dot)+e.c))
	part := math.Exp(exponent / 4)
	v := e.v
	for range 4 {
		v *= part
	}
	return v
}
