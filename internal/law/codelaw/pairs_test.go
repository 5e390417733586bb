package codelaw

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// conditional returns E sᵀs' for vectors with the cosine rho: given one coordinate x of u, that of
// v is ρx + √(1−ρ²)√(1−x²)·w, where w is a coordinate of a uniform unit vector in R^(d−1).
func conditional(c Cells, d int, rho float64) float64 {
	sum := 0.0
	for j, lo := range c.Edges {
		hi := 1.0
		if j+1 < len(c.Edges) {
			hi = c.Edges[j+1]
		}
		hi = min(hi, 12/math.Sqrt(float64(d)), 1)
		if lo >= hi {
			continue
		}
		sum += c.Levels[j] * integrate(func(x float64) float64 {
			scale, mean := math.Sqrt((1-rho*rho)*(1-x*x)), 0.0
			above := func(t float64) float64 { // P(y > t)
				w := (t - rho*x) / scale
				if w < 0 {
					return 1 - beyond(d-1, min(-w, 1))/2
				}
				return beyond(d-1, w) / 2
			}
			for k, t := range c.Edges {
				mean += c.jump(k) * (above(t) - (1 - above(-t)))
			}
			return density(d, x) * mean
		}, lo, hi)
	}
	return float64(d) * sum
}

func scaled(c Cells, f float64) Cells {
	for j := range c.Levels {
		c.Levels[j] *= f
		c.Edges[j] *= f
	}
	return c
}

// The table of f has the values of direct integration over one coordinate of each vector, falls
// with the angle, and its inverse finds the angle between nodes, too.
func TestPairsMean(t *testing.T) {
	for _, d := range []int{16, 300} {
		for name, c := range map[string]Cells{
			"uneven": scaled(uneven(), 4/math.Sqrt(float64(d))), "2 bits": LloydMax(d, 2), "4 bits": BestUniform(d, 8), "1 bit": Unbiased(d),
		} {
			p := c.Pairs(d)
			assert.InDelta(t, p.square, p.nodes[pairIntervals].lost, 1e-7, "d = %d, %s: f(π/2)", d, name)
			for k := 1; k <= pairIntervals; k++ {
				require.Greater(t, p.nodes[k].lost, p.nodes[k-1].lost, "d = %d, %s", d, name)
			}
			for _, angle := range []float64{0.08, 0.3, 0.9, 1.4} {
				f := conditional(c, d, math.Cos(angle))
				assert.InDelta(t, angle, p.angle(p.square-f), 2e-5, "d = %d, %s", d, name)
				assert.InDelta(t, math.Pi-angle, p.angle(p.square+f), 2e-5, "d = %d, %s", d, name)
			}
		}
	}
}

// For codes of one bit the law is that of signs, whose angles are known exactly.
func TestPairsOfSigns(t *testing.T) {
	const d = 4000
	p := Unbiased(d).Pairs(d)
	for _, angle := range []float64{0.05, 0.3, 1, 1.5} {
		f := p.square * (1 - 2*angle/math.Pi)
		cosine, deviation := p.Cosine(f, p.square, 1)
		assert.InDelta(t, math.Cos(angle), cosine, 1e-7)
		assert.InEpsilon(t, math.Pi*math.Sin(angle)*math.Sqrt(SignsBetween(d, angle)), deviation, 2e-3, "angle %v", angle)
	}
}

// 128 cells a sign round so little that codes are nearly the vectors, and integrals have narrow
// peaks.
func TestPairsOfManyCells(t *testing.T) {
	const d = 256
	p := BestUniform(d, 128).Pairs(d)
	assert.InDelta(t, p.square, p.nodes[pairIntervals].lost, 1e-8)
	for _, n := range p.nodes[1:] {
		assert.InDelta(t, 1-math.Cos(n.angle), n.lost, 2e-4, "angle %v", n.angle)
		assert.True(t, n.variance > 0 && n.share > -1e-6 && n.share < 1, "angle %v: %v, %v", n.angle, n.variance, n.share)
	}
}

// rounded draws pairs of vectors with the cosine rho and returns A and B of their codes.
func rounded(c Cells, d, draws int, rho float64, r *rand.Rand, take func(product, square float64)) {
	u, v := make([]float64, d), make([]float64, d)
	for range draws {
		var uu, uv, vv float64
		for i := range u {
			u[i], v[i] = r.NormFloat64(), r.NormFloat64()
			uu += u[i] * u[i]
			uv += u[i] * v[i]
		}
		for i, x := range u {
			v[i] -= uv / uu * x
			vv += v[i] * v[i]
		}
		var product, square float64
		for i, x := range u {
			x /= math.Sqrt(uu)
			s, other := c.round(x), c.round(rho*x+math.Sqrt((1-rho*rho)/vv)*v[i])
			product += s * other
			square += (s*s + other*other) / 2
		}
		take(product, square)
	}
}

// Shares and variances are those of samples: with the share of the table A − a·B has the variance
// of the table, and B itself has no part in it. |z| < 4 in 24 comparisons, a false alarm in 650 of
// such tests.
func TestPairsVariance(t *testing.T) {
	const d, draws = 500, 1000
	r := rand.New(rand.NewPCG(5, 8))
	for name, c := range map[string]Cells{"uneven": scaled(uneven(), 4/math.Sqrt(d)), "2 bits": BestUniform(d, 2), "4 bits": LloydMax(d, 8)} {
		p := c.Pairs(d)
		for _, angle := range []float64{0.1, 0.4, 0.9, 1.5} {
			n := p.at(angle)
			f := conditional(c, d, math.Cos(angle))
			var squares, fourth, common, spread float64
			rounded(c, d, draws, math.Cos(angle), r, func(product, square float64) {
				b := square - p.square
				e := product - f - n.share*b
				squares += e * e / draws
				fourth += e * e * e * e / draws
				common += e * b / draws
				spread += e * b * e * b / draws
			})
			what := fmt.Sprintf("%s, angle %v", name, angle)
			assert.Less(t, math.Abs(squares-n.variance/d), 4*math.Sqrt((fourth-squares*squares)/draws)+0.02*squares, what)
			assert.Less(t, math.Abs(common), 4*math.Sqrt(spread/draws), what)
		}
	}
}

// Codes that are equal or opposite have the cosine ±1, and those beyond any angle too.
func TestPairsAtTheEnds(t *testing.T) {
	p := BestUniform(64, 8).Pairs(64)
	for _, a := range []float64{0.9, p.square, 1.1} {
		for _, sign := range []float64{1, -1} {
			cosine, deviation := p.Cosine(sign*a, a, 1)
			assert.Equal(t, sign, cosine)
			assert.True(t, deviation > 0 && deviation < 1e-3, "%v", deviation)
		}
	}
	for _, a := range []float64{0, 1e-30, -1e-30} {
		cosine, deviation := p.Cosine(a, p.square, 1)
		assert.InDelta(t, 0, cosine, 1e-7)
		assert.InEpsilon(t, math.Sqrt(p.nodes[pairIntervals].variance/64)/p.nodes[pairIntervals].slope, deviation, 1e-6)
	}
	for _, square := range []float64{0, 3} {
		cosine, deviation := p.Cosine(0.5, square, 1)
		assert.True(t, cosine >= -1 && cosine <= 1 && deviation > 0, "%v: %v ± %v", square, cosine, deviation)
	}
}
