package mse

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
)

type Frequencies struct {
	Ensemble orf.Ensemble
	M, D     int
}

// FrequenciesOf returns the frequencies in the rows of w, which may be nil.
func FrequenciesOf[T dense.Float](w orf.Projection[T]) Frequencies {
	if w == nil {
		return Frequencies{}
	}
	var r Frequencies
	r.M, r.D = w.Shape()
	if drawn, ok := w.(orf.Drawn[T]); ok {
		r.Ensemble = drawn.Ensemble()
	}
	return r
}

// Law is what theory knows of the estimate that a map computes. The zero Law knows nothing.
type Law struct {
	rows Frequencies
	over func(r Frequencies) (Errors, bool)
}

type Errors struct {
	// Name names the features, the frequencies and the source of the law.
	Name string

	// MSE is the mean squared error at x and y against the kernel; nil if there are Moments.
	MSE func(x, y []float64) float64

	// Relative is MSE over the square of the kernel, also where both are out of range of float64.
	// Relative is nil if only a division gives it.
	Relative func(x, y []float64) float64

	// Moments returns the mean and the variance by quadrature, and whether it reached its accuracy.
	// Moments is nil for laws in closed form.
	Moments func(x, y []float64) (mean, variance float64, ok bool)
}

type Lawful interface{ Law() Law }

// Over returns the law of the same features over other frequencies.
func (l Law) Over(r Frequencies) Law {
	l.rows = r
	return l
}

func (l Law) Errors() (Errors, bool) {
	if l.over == nil {
		return Errors{}, false
	}
	return l.over(l.rows)
}

// Centred is the law of the estimates at x − b and y − c times exp(scale·(xᵀy − (x−b)ᵀ(y−c))), of a
// law for the softmax kernel exp(scale·xᵀy), which has Relative or Moments.
func (l Law) Centred(b, c []float64, scale float64) Law {
	return l.through("Centred ", func(x, y []float64) ([]float64, []float64) {
		return difference(x, b), difference(y, c)
	}, func(e Errors) Errors {
		to := e
		if e.Moments == nil {
			to.MSE = func(x, y []float64) float64 {
				return product{v: e.Relative(x, y), dot: 2 * scale}.value(newPair(x, y, 1))
			}
			return to
		}
		to.Moments = func(x, y []float64) (mean, variance float64, ok bool) {
			dot := scale * (floats.Dot(difference(x, b), c) + floats.Dot(b, y))
			mean, variance, ok = e.Moments(x, y)
			return product{v: mean, c: dot}.value(pair{}), product{v: variance, c: 2 * dot}.value(pair{}), ok
		}
		return to
	})
}

// Composed is the law of the features φ(at(x)), for the law of φ. at does not keep x.
func (l Law) Composed(at func(x []float64) []float64) Law {
	points := func(x, y []float64) ([]float64, []float64) { return at(x), at(y) }
	return l.through("Compose ", points, func(e Errors) Errors { return e })
}

// through returns the law with the estimates that then makes of those of l at other points.
func (l Law) through(name string, points func(x, y []float64) (px, py []float64), then func(e Errors) Errors) Law {
	at := func(f func(x, y []float64) float64) func(x, y []float64) float64 {
		if f == nil {
			return nil
		}
		return func(x, y []float64) float64 { return f(points(x, y)) }
	}
	return Law{rows: l.rows, over: func(r Frequencies) (Errors, bool) {
		e, ok := l.Over(r).Errors()
		if !ok {
			return Errors{}, false
		}
		to := Errors{Name: name + e.Name, MSE: at(e.MSE), Relative: at(e.Relative)}
		if e.Moments != nil {
			to.Moments = func(x, y []float64) (mean, variance float64, ok bool) { return e.Moments(points(x, y)) }
		}
		return then(to), true
	}}
}

// Dim returns the dimension of the frequencies of the map, 0 if it has none.
func (l Law) Dim() int { return l.rows.D }

// Coordinates beyond the range of float64 become its largest number.
func difference(x, b []float64) []float64 {
	z := floats.SubTo(make([]float64, len(x)), x, b)
	for i, v := range z {
		if math.IsInf(v, 0) && !math.IsInf(x[i], 0) {
			z[i] = math.Copysign(math.MaxFloat64, v)
		}
	}
	return z
}

type closed struct {
	source        string
	mse, relative Error
}

// lawOf returns the law that known gives for an ensemble, at the points √scale·x and √scale·y.
func lawOf(features string, scale float64, known func(e orf.Ensemble) (closed, bool)) Law {
	return Law{over: func(r Frequencies) (Errors, bool) {
		if r.Ensemble == nil {
			return Errors{}, false
		}
		c, ok := known(r.Ensemble)
		return c.estimate(fmt.Sprintf("%s, %v frequencies", features, r.Ensemble), scale, r.M), ok
	}}
}

func (c closed) estimate(name string, scale float64, m int) Errors {
	at := func(f Error) func(x, y []float64) float64 {
		return func(x, y []float64) float64 { return f(times(scale, x), times(scale, y), m) }
	}
	e := Errors{Name: fmt.Sprintf("%s [%s]", name, c.source), MSE: at(c.mse)}
	if c.relative != nil {
		e.Relative = at(c.relative)
	}
	return e
}

// source is the source of the law over independent rows.
func OfGaussian(source string, scale float64) Law {
	return Trig.law("Gaussian", source, scale, ExponentialLaw.Gaussian)
}

func OfSoftmax(features, source string, terms Exponential, scale float64) Law {
	return terms.law(features, source, scale, ExponentialLaw.Softmax)
}

const derived = "from the covariance of two rows"

func (t Exponential) law(features, source string, scale float64, kernel func(l ExponentialLaw, x, y []float64, m int) float64) Law {
	return lawOf(features, scale, func(e orf.Ensemble) (closed, bool) {
		var l ExponentialLaw
		c := closed{source: derived}
		switch e {
		case orf.IID{}:
			l, c.source = t.IID, source
		case orf.GramSchmidt{}:
			l = t.Haar
		case orf.Simplex{}:
			l = t.Simplex
		}
		c.mse = func(x, y []float64, m int) float64 { return kernel(l, x, y, m) }
		c.relative = l.Relative
		return c, l.relative != nil
	})
}

func OfDotProduct() Law {
	return lawOf("DotProduct", 1, func(e orf.Ensemble) (closed, bool) {
		c := closed{source: derived, mse: DotProduct(e)}
		switch e.(type) {
		case orf.IID, orf.GramSchmidt, orf.Hadamard:
			c.source = "Choromanski, Rowland & Weller 2017"
		}
		return c, c.mse != nil
	})
}

func OfAngular() Law {
	return lawOf("Angular", 1, func(e orf.Ensemble) (closed, bool) {
		switch e.(type) {
		case orf.IID:
			return closed{source: "binomial", mse: AngularIID}, true
		case orf.GramSchmidt:
			return closed{source: derived, mse: AngularORF}, true
		}
		return closed{}, false
	})
}

// OfIndependent is the law of features whose error is known over the independent rows of one
// ensemble alone.
func OfIndependent(features, source string, rows orf.Ensemble, scale float64, mse Error) Law {
	return lawOf(features, scale, func(e orf.Ensemble) (closed, bool) {
		return closed{source: source, mse: mse}, e == rows
	})
}

// OfScheme is the law of features h(x)/√m·f_k(w_iᵀx), independent rows w_i and a relative error
// noise of f.
func OfScheme(h func(x []float64) float64, f []func(t float64) float64, noise float64) Law {
	return Law{over: func(r Frequencies) (Errors, bool) {
		return Errors{
			Name: fmt.Sprintf("New, %v frequencies [by quadrature]", r.Ensemble),
			Moments: func(x, y []float64) (mean, variance float64, ok bool) {
				mean, variance, ok = Plane(x, y, f, noise)
				c := h(x) * h(y)
				deviation := c * math.Sqrt(variance)
				return c * mean, deviation * deviation / float64(r.M), ok
			},
		}, r.Ensemble == orf.IID{}
	}}
}

// Coordinates beyond the range of float64 stay at its end, where laws are at their limits.
func times(s float64, x []float64) []float64 {
	if s == 1 {
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
