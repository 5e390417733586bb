package mse

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
)

// fixedCase is a law over rows of fixed length, of estimates that are means of term(wᵀz) with z =
// x+y or x−y.
type fixedCase struct {
	name               string
	iid, haar, simplex ExponentialLaw
	term               func(t float64) float64
	sum                bool // z = x+y, else x−y
	extra              float64
}

func fixedCases() []fixedCase {
	of := func(name string, e Exponential, term func(t float64) float64, sum bool, extra float64) fixedCase {
		return fixedCase{name, e.FixedIID, e.FixedHaar, e.FixedSimplex, term, sum, extra}
	}
	return []fixedCase{
		of("trig", Trig, math.Cos, false, 0),
		of("phase", Phase, math.Cos, false, 0.5),
		of("positive", Positive, math.Exp, true, 0),
		of("hyperbolic", Hyperbolic, math.Cosh, true, 0),
	}
}

// sphereMoments returns the mean and the second moment of f(r·u₁), and the mean of f(r·u₁)·f(r·v₁)
// for unit vectors u, v of R^d, d ≥ 3, at an angle of the given cosine, by quadrature over angles.
// The integrands are analytic and vanish at both ends with their first derivatives for d ≥ 4, so
// that the error is far below 1e-13 of the largest value.
func sphereMoments(d int, r, cosine float64, f func(t float64) float64) (mean, second, joint float64) {
	over := func(d int, g func(u float64) float64) float64 {
		const nodes = 120
		integral := func(g func(u float64) float64) float64 {
			return quad.Fixed(func(at float64) float64 {
				return g(math.Cos(at)) * math.Pow(math.Sin(at), float64(d-2))
			}, 0, math.Pi, nodes, quad.Legendre{}, 0)
		}
		return integral(g) / integral(func(float64) float64 { return 1 })
	}
	mean = over(d, func(u float64) float64 { return f(r * u) })
	second = over(d, func(u float64) float64 { return f(r*u) * f(r*u) })
	rest := math.Sqrt(1 - cosine*cosine)
	joint = over(d, func(u float64) float64 {
		// v₁ is cosine·u₁ and the rest times a direction of R^(d−1).
		return f(r*u) * over(d-1, func(s float64) float64 { return f(r * (cosine*u + rest*math.Sqrt(1-u*u)*s)) })
	})
	return mean, second, joint
}

// Means and errors follow from the moments of one and of two rows, by quadrature.
func TestFixedLengthsByQuadrature(t *testing.T) {
	for _, d := range []int{3, 4, 7} {
		for _, size := range []float64{0.3, 0.8, 1.5} {
			x, y := make([]float64, d), make([]float64, d)
			copy(x, floats.ScaleTo(make([]float64, 3), size, []float64{0.4, -0.2, 0.7}))
			copy(y, floats.ScaleTo(make([]float64, 3), size, []float64{-0.1, 0.8, 0.3}))
			z := newPair(x, y, 1)
			for _, c := range fixedCases() {
				// The estimate of the Gaussian kernel is a mean of terms times this factor.
				square, factor := z.q, 1.0
				if c.sum {
					square, factor = z.p, math.Exp(-z.xx-z.yy)
				}
				r := math.Sqrt(float64(d) * square)
				kernel := math.Exp(-z.q / 2)
				for _, l := range []struct {
					law    ExponentialLaw
					block  int
					cosine float64
				}{{c.iid, 1, 0}, {c.haar, d, 0}, {c.simplex, d, simplexCosine(d)}} {
					mean, second, joint := sphereMoments(d, r, l.cosine, c.term)
					at := fmt.Sprintf("%s d=%d size=%v block=%d", c.name, d, size, l.block)
					assert.InEpsilon(t, factor*mean, l.law.GaussianMean(x, y), 1e-12, at)
					assert.InEpsilon(t, math.Exp((z.xx+z.yy)/2)*factor*mean, l.law.SoftmaxMean(x, y), 1e-12, at)
					for _, m := range []int{1, d - 1, d, d + 2, 3 * d} {
						variance := (second+c.extra-mean*mean)/float64(m) + pairs(m, l.block)/float64(m*m)*(joint-mean*mean)
						bias := factor*mean - kernel
						want := factor*factor*variance + bias*bias
						// The difference of moments loses digits, the law does not.
						rounding := 1e-13 * factor * factor * (second + float64(d)*math.Abs(joint))
						assert.InDelta(t, want, l.law.Gaussian(x, y, m), rounding, "%s m=%d", at, m)
						assert.InDelta(t, want*math.Exp(z.xx+z.yy), l.law.Softmax(x, y, m), rounding*math.Exp(z.xx+z.yy), "%s m=%d", at, m)
					}
				}
			}
		}
	}
}

// With (1−4a)^(d/4)·e^(ad) in front, and the slope √(1−4a).
func TestFixedLengthOptimalFeatures(t *testing.T) {
	const d, m = 4, 6
	x, y := []float64{0.4, -0.2, 0.7, 0}, []float64{-0.1, 0.8, 0.3, 0.2}
	z := newPair(x, y, 1)
	for _, a := range []float64{-2, -0.3, -0.01, 0.05} {
		e := Optimal(a)
		gain := math.Pow(1-4*a, d/2.) * math.Exp(2*a*d) * math.Exp(-(z.xx+z.yy)/2)
		r := math.Sqrt((1 - 4*a) * d * z.p)
		for i, l := range []ExponentialLaw{e.FixedIID, e.FixedHaar, e.FixedSimplex} {
			mean, second, joint := sphereMoments(d, r, []float64{0, 0, simplexCosine(d)}[i], math.Exp)
			variance := (second-mean*mean)/m + pairs(m, []int{1, d, d}[i])/(m*m)*(joint-mean*mean)
			bias := gain*mean - math.Exp(z.s)
			assert.InEpsilon(t, gain*mean, l.SoftmaxMean(x, y), 1e-12, "a=%v", a)
			assert.InEpsilon(t, gain*gain*variance+bias*bias, l.Softmax(x, y, m), 1e-11, "a=%v law %d", a, i)
		}
	}
	// The mean goes over smoothly into what it is without damping.
	near, none := Optimal(-1e-9).FixedHaar.Softmax(x, y, m), Positive.FixedHaar.Softmax(x, y, m)
	assert.InEpsilon(t, none, near, 1e-7)
}

// In R² and R¹ rows are cosines and signs: all of a block together, on a grid of turns. The grid
// has more nodes than the terms have waves, so that its mean is exact to rounding.
func TestFixedLengthsInThePlane(t *testing.T) {
	const nodes = 200
	x, y := []float64{0.7, -0.4}, []float64{-0.3, 0.9}
	z := newPair(x, y, 1)
	for _, c := range fixedCases() {
		square, factor := z.q, 1.0
		if c.sum {
			square, factor = z.p, math.Exp(-z.xx-z.yy)
		}
		r := math.Sqrt(2 * square)
		for i, l := range []ExponentialLaw{c.haar, c.simplex} {
			turn := []float64{math.Pi / 2, math.Pi}[i]
			var mean, second float64
			for k := range nodes {
				at := 2 * math.Pi * float64(k) / nodes
				v := (c.term(r*math.Cos(at)) + c.term(r*math.Cos(at+turn))) / 2
				mean, second = mean+v/nodes, second+v*v/nodes
			}
			bias := factor*mean - math.Exp(-z.q/2)
			want := factor*factor*(second-mean*mean+c.extra/2) + bias*bias
			assert.InDelta(t, want, l.Gaussian(x, y, 2), 1e-14*factor*factor*second, "%s %d", c.name, i)
		}
		line := c.iid
		s := x[0] - y[0]
		if c.sum {
			s, factor = x[0]+y[0], math.Exp(-x[0]*x[0]-y[0]*y[0])
		}
		plus, minus := c.term(s), c.term(-s)
		bias := factor*(plus+minus)/2 - math.Exp(-(x[0]-y[0])*(x[0]-y[0])/2)
		want := factor*factor*((plus-minus)*(plus-minus)/4+c.extra)/3 + bias*bias
		assert.InEpsilon(t, want, line.Gaussian(x[:1], y[:1], 3), 1e-12, c.name)
		assert.InEpsilon(t, want, c.simplex.Gaussian(x[:1], y[:1], 3), 1e-12, c.name)
	}
}

// Full orthogonal blocks of fixed length have Σ (wᵀz)² = d‖z‖² exactly: to lowest order the error
// is of order ‖z‖⁸, and the bias −q²/(4(d+2)) to lowest order is all of it.
func TestFixedLengthsOfNearbyPoints(t *testing.T) {
	const d, h = 4, 0x1p-10
	x, y := []float64{1, 2, 3, 4}, []float64{1 + h, 2, 3, 4}
	bias := math.Pow(h, 4) / (4 * (d + 2))
	assert.InEpsilon(t, bias*bias, Trig.FixedHaar.Gaussian(x, y, d)-waveVariance(d, d*h*h, d), 1e-4)
	assert.InEpsilon(t, waveVariance(d, d*h*h, d), newFixedRows(d, d, d, false).waves(math.Sqrt(d)*h), 1e-5)
	assert.InEpsilon(t, waveVariance(d, d*h*h, 3*d), newFixedRows(3*d, d, d, false).waves(math.Sqrt(d)*h), 1e-5)
	// Independent rows have the variance of (wᵀz)²/2, ¼·(3d²/(d(d+2)) − 1)·h⁴.
	assert.InEpsilon(t, 0.25*(3.*d/(d+2)-1)*math.Pow(h, 4), Trig.FixedIID.Gaussian(x, y, 1), 1e-5)
	// Full simplex blocks have Σ w = 0 exactly: exp features lose their first order.
	opposite := []float64{-1 + h, -2, -3, -4}
	relative := Positive.FixedSimplex.Relative(x, opposite, d)
	assert.Less(t, relative, 10*math.Pow(h, 4))
	assert.Greater(t, Positive.FixedSimplex.Relative(x, opposite, d-1), h*h/10)
}

// waveVariance is the variance of the mean of cos(wᵀz) over full blocks to lowest order in t =
// d‖z‖²: the term g₄·t⁴/((d/2)₄·4!) of the series, g₄ = (d−1)/(16(d+2)).
func waveVariance(d, t float64, m int) float64 {
	a := d / 2
	return (d - 1) / (16 * (d + 2)) * math.Pow(t, 4) / (a * (a + 1) * (a + 2) * (a + 3) * 24) / float64(m)
}

// The two ways to compute agree where one takes over from the other.
func TestFixedLengthsAreSmooth(t *testing.T) {
	for _, d := range []int{1, 2, 3, 8, 30} {
		below, above := asymptotic(d)*(1-1e-12), asymptotic(d)*(1+1e-12)
		assert.InEpsilon(t, surge(d, below), surge(d, above), 1e-9, "d=%d", d)
		edge := math.Sqrt(1.5 * (float64(d)/2 + 2))
		for _, block := range []int{1, d} {
			for _, simplex := range []bool{false, true} {
				f := newFixedRows(d+1, d, block, simplex)
				for _, even := range []bool{false, true} {
					r := asymptotic(d) / 2
					assert.InDelta(t, f.growth(r*(1-1e-12), even), f.growth(r*(1+1e-12), even), 1e-9*surge(d, 2*r), "d=%d", d)
				}
				assert.InDelta(t, f.waves(edge*(1-1e-12)), f.waves(edge*(1+1e-12)), 1e-11, "d=%d", d)
			}
		}
	}
	// Lengths that vary little are nearly fixed: ‖w‖ from χ(d) for large d.
	const d = 20000
	x, y := make([]float64, d), make([]float64, d)
	x[0], y[0], y[1] = 0.5, -0.3, 0.4
	assert.InEpsilon(t, Trig.IID.Gaussian(x, y, 3), Trig.FixedIID.Gaussian(x, y, 3), 1e-3)
	assert.InEpsilon(t, Positive.IID.Softmax(x, y, 3), Positive.FixedIID.Softmax(x, y, 3), 1e-3)
}
