package codelaw

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// Range returns the moments in R^d of codes with n cells per sign of equal width between 0 and the
// largest |u_i|, with levels at their midpoints.
//
// Let g be a Gaussian vector with u = g/r, r = ‖g‖, and let m be the largest |g_i|. Given m, the
// other coordinates are independent and truncated at m. The code s depends on g/m only. The
// direction u is independent of r, and E r² = d and E r⁴ = d(d+2). Hence the moments are integrals
// over m.
func Range(d, n int) Moments {
	rest, cells := float64(d-1), float64(n)
	top := (cells - 0.5) / cells
	given := func(m float64) Moments {
		// These are the means of h², h·g and (h·g)² for one coordinate below m and its level h.
		var square, product, productSquare float64
		inside := math.Erf(m / math.Sqrt2)
		for j := range n {
			h := (float64(j) + 0.5) / cells
			lo, hi := float64(j)/cells*m, float64(j+1)/cells*m
			p, first, second := gaussianCell(lo, hi)
			square += h * h * p / inside
			product += h * first / inside
			productSquare += h * h * second / inside
		}
		a := top*m + rest*product
		return Moments{
			Along:       m * a,
			AlongSquare: m * m * (top*m*(top*m+2*rest*product) + rest*productSquare + rest*(rest-1)*product*product),
			Square:      m * m * (top*top + rest*square),
		}
	}
	// The largest of d coordinates is outside [lo, hi] with a probability of about 1e-20.
	hi := 1.0
	for float64(d)*math.Erfc(hi/math.Sqrt2) > 1e-20 {
		hi *= 1.1
	}
	lo := hi
	for float64(d)*math.Log(math.Erf(lo/math.Sqrt2)) > -46 {
		lo /= 1.1
	}
	integral := func(of func(m Moments) float64) float64 {
		const panels, points = 8, 24
		sum := 0.0
		for i := range panels {
			a, b := lo+(hi-lo)*float64(i)/panels, lo+(hi-lo)*float64(i+1)/panels
			sum += quad.Fixed(func(m float64) float64 {
				density := float64(d) * math.Sqrt(2/math.Pi) * math.Exp(-m*m/2+rest*math.Log(math.Erf(m/math.Sqrt2)))
				return density * of(given(m))
			}, a, b, points, quad.Legendre{}, 0)
		}
		return sum
	}
	k := float64(d)
	return Moments{
		Along:       integral(func(m Moments) float64 { return m.Along }) / k,
		AlongSquare: integral(func(m Moments) float64 { return m.AlongSquare }) / (k * (k + 2)),
		Square:      integral(func(m Moments) float64 { return m.Square }) / k,
	}
}

// gaussianCell returns E[1], E|g| and E g² over lo < |g| < hi for a standard normal g.
func gaussianCell(lo, hi float64) (p, first, second float64) {
	at := func(x float64) float64 { return math.Sqrt(2/math.Pi) * math.Exp(-x*x/2) }
	p = math.Erfc(lo/math.Sqrt2) - math.Erfc(hi/math.Sqrt2)
	return p, at(lo) - at(hi), p + lo*at(lo) - hi*at(hi)
}
