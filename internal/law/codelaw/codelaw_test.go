package codelaw

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/integrate/quad"
)

// integrate integrates over [lo, hi] in panels.
func integrate(f func(x float64) float64, lo, hi float64) float64 {
	const panels = 64
	sum := 0.0
	for i := range panels {
		step := (hi - lo) / panels
		sum += quad.Fixed(f, lo+float64(i)*step, lo+float64(i+1)*step, 16, quad.Legendre{}, 0)
	}
	return sum
}

func (c Cells) round(x float64) float64 {
	j := 0
	for j+1 < len(c.Edges) && math.Abs(x) >= c.Edges[j+1] {
		j++
	}
	return math.Copysign(c.Levels[j], x)
}

func uneven() Cells { return Cells{[]float64{0, 0.1, 0.35, 0.6}, []float64{0.04, 0.3, 0.41, 0.9}} }

func TestMeanAbsolute(t *testing.T) {
	assert.InDelta(t, 2/math.Pi, meanAbsolute(2), 1e-15)
	assert.InDelta(t, 0.5, meanAbsolute(3), 1e-15)
	// E|u₁|(d)·E|u₁|(d+1) = 2/(πd), across the change of formula too.
	for d := 2; d < 400; d++ {
		assert.InEpsilon(t, 2/(math.Pi*float64(d)), meanAbsolute(d)*meanAbsolute(d+1), 4e-15, "d = %d", d)
	}
}

// The moments of one coordinate by quadrature over its density, and of two by enumeration on the
// circle, where u₂ follows from u₁.
func TestMomentsOfCells(t *testing.T) {
	c := uneven()
	for _, d := range []int{4, 5, 16, 101} {
		m := c.Moments(d)
		by := func(f func(x float64) float64) float64 {
			sum := 0.0
			for j, lo := range c.Edges {
				hi := 1.0
				if j+1 < len(c.Edges) {
					hi = c.Edges[j+1]
				}
				// The square root of the density at x = 1 goes with x = sin.
				sum += integrate(func(angle float64) float64 {
					x := math.Sin(angle)
					return f(x) * float64(d-1) * meanAbsolute(d) * math.Pow(math.Cos(angle), float64(d-2))
				}, math.Asin(lo), math.Asin(hi))
			}
			return float64(d) * sum
		}
		assert.InDelta(t, 1, by(func(float64) float64 { return 1 })/float64(d), 1e-12, "density")
		assert.InDelta(t, by(func(x float64) float64 { return x * c.round(x) }), m.Along, 1e-12, "d = %d", d)
		assert.InDelta(t, by(func(x float64) float64 { return c.round(x) * c.round(x) }), m.Square, 1e-12, "d = %d", d)
	}
	const steps = 1 << 18
	var m Moments
	for i := range steps {
		y, x := math.Sincos((float64(i) + 0.5) / steps * 2 * math.Pi)
		s, u := c.round(x), c.round(y)
		m.Along += (s*x + u*y) / steps
		m.AlongSquare += (s*x + u*y) * (s*x + u*y) / steps
		m.Square += (s*s + u*u) / steps
	}
	got := c.Moments(2)
	assert.InDelta(t, m.Along, got.Along, 4e-5)
	assert.InDelta(t, m.AlongSquare, got.AlongSquare, 4e-5)
	assert.InDelta(t, m.Square, got.Square, 4e-5)
}

func TestBestUniform(t *testing.T) {
	for _, d := range []int{16, 768} {
		for _, n := range []int{2, 8, 128} {
			quality := func(step float64) float64 { m := Uniform(n, step).Moments(d); return m.Along * m.Along / m.Square }
			step := BestUniform(d, n).Edges[1]
			assert.Greater(t, quality(step), quality(0.97*step), "d = %d, n = %d", d, n)
			assert.Greater(t, quality(step), quality(1.03*step), "d = %d, n = %d", d, n)
		}
	}
	// The best equal steps in many dimensions, table II of [Max 1960], make the error smallest; for
	// the angle they are nearly as good.
	assert.InDelta(t, 0.9957, 2000*BestUniform(4_000_000, 2).Edges[1], 0.01)
}

// On the sphere in R³, with u₃ uniform: E 1/‖u‖₁² by quadrature over an octant.
func TestSignsCorrectedInSpace(t *testing.T) {
	want := integrate(func(z float64) float64 {
		return integrate(func(angle float64) float64 {
			sin, cos := math.Sincos(angle)
			norm := z + math.Sqrt(1-z*z)*(sin+cos)
			return 2 / math.Pi / (norm * norm)
		}, 0, math.Pi/2)
	}, 0, 1)
	assert.InEpsilon(t, 3*want, SignsCorrected(3).Square, 1e-6)
}

// One level a sign in two cells is one cell, but the Fourier integral does not know.
func TestCorrectedOfSigns(t *testing.T) {
	for _, d := range []int{32, 64, 100, 768, 3072} {
		edge := 0.6 / math.Sqrt(float64(d))
		c := Cells{[]float64{0, edge}, []float64{1, 1}}
		assert.InEpsilon(t, SignsCorrected(d).Square, c.Corrected(d).Square, 1e-11, "d = %d", d)
		// The square of a mean is at most the mean of the square.
		for _, n := range []int{2, 8} {
			c := BestUniform(d, n)
			raw, corrected := c.Moments(d), c.Corrected(d)
			quality := corrected.Square * raw.Along * raw.Along / raw.Square
			assert.InDelta(t, 1, quality, 2/float64(d), "d = %d, n = %d", d, n)
		}
	}
}

// Four cells a sign against uniform unit vectors: |z| < 4, a false alarm in 16,000.
func TestCorrectedByDrawing(t *testing.T) {
	const d, draws = 32, 20000
	c := uneven()
	for j := range c.Edges {
		c.Edges[j] /= 2
	}
	r := rand.New(rand.NewPCG(3, 1))
	x := make([]float64, d)
	var sum, squares float64
	for range draws {
		norm := 0.0
		for i := range x {
			x[i] = r.NormFloat64()
			norm += x[i] * x[i]
		}
		var square, along float64
		for _, v := range x {
			v /= math.Sqrt(norm)
			s := c.round(v)
			square += s * s
			along += s * v
		}
		v := square / (along * along)
		sum += v
		squares += v * v
	}
	mean := sum / draws
	stderr := math.Sqrt((squares/draws - mean*mean) / draws)
	assert.Less(t, math.Abs(mean-c.Corrected(d).Square), 4*stderr)
	// The raw moments are another law.
	raw := c.Moments(d)
	assert.Greater(t, math.Abs(mean-raw.Square/(raw.Along*raw.Along)), 4*stderr)
}

func ExampleMoments_Cosine() {
	m := BestUniform(768, 8).Corrected(768)
	mean, variance := m.Cosine(768, 0.5)
	fmt.Printf("mean %.4f, standard deviation %.4f\n", mean, math.Sqrt(variance))
	// Output: mean 0.5000, standard deviation 0.0034
}
