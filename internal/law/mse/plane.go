package mse

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
)

// Plane returns the mean and the variance of Σ_k f_k(wᵀx)·f_k(wᵀy) over w ~ N(0, I): one term of an
// estimate with the features f_k(w_iᵀx)/√m. Both are integrals over the plane of x and y, in polar
// coordinates, with 2, 4, 8 … times as many nodes until the results agree. f may have kinks and
// jumps at 0, which are rays of the plane. noise is the relative error of values of f, at least
// 2⁻⁵².
//
// ok tells whether the last two variances differ by at most 2e-7 of the variance (or 4e-3 for the
// noise of float32), or by what 64 times the noise makes of a small difference. ok is false if f is
// not finite up to 10 standard deviations, if an integral diverges, and after ten million values of
// f, as with jumps elsewhere than at 0. Coordinates that are NaN or infinite give NaN. Plane panics
// if x and y differ in length or are empty.
func Plane(x, y []float64, f []func(t float64) float64, noise float64) (mean, variance float64, ok bool) {
	if z := newPair(x, y, 1); math.IsNaN(z.p) {
		return z.p, z.p, true
	}
	p := plane{f: f, sx: floats.Norm(x, 2), sy: floats.Norm(y, 2), turn: angle(x, y)}
	p.end = p.finite()
	var size float64
	p.over(16, func(z, root float64) { mean += z * root * root })
	for n, left := 32, 10_000_000; left > 0 && mean-mean == 0; n *= 2 {
		left -= 32 * n * n * len(f)
		lastMean, last := mean, variance
		mean, variance, size = 0, 0, 0
		p.over(n, func(z, root float64) {
			mean += z * root * root
			size += math.Abs(z) * root * root
		})
		p.over(n, func(z, root float64) {
			e := (z - mean) * root
			variance += e * e
		})
		relative, small := 10*math.Sqrt(noise), 64*noise*size
		if math.Abs(mean-lastMean) <= relative*size && math.Abs(variance-last) <= max(relative*variance, small*(small+math.Sqrt(variance))) {
			return mean, variance, !math.IsInf(variance, 0)
		}
	}
	return mean, variance, false
}

// In the plane of x and y, wᵀx = sx·r·cos φ and wᵀy = sy·r·cos(φ − turn).
type plane struct {
	f            []func(t float64) float64
	sx, sy, turn float64
	end          float64 // of r
}

// over calls g with z = Σ_k f_k(wᵀx)·f_k(wᵀy) and the root of the weight, at 4n angles with 2n
// distances each. The root keeps squares of z in range.
func (p *plane) over(n int, g func(z, root float64)) {
	distances, angles := make([]float64, 2*n), make([]float64, n)
	weights, turns := make([]float64, 2*n), make([]float64, n)
	quad.Legendre{}.FixedLocations(distances[:n], weights[:n], 0, 9)
	quad.Legendre{}.FixedLocations(distances[n:], weights[n:], 9, p.end)
	for i, r := range distances {
		weights[i] = math.Sqrt(weights[i]*r/(2*math.Pi)) * math.Exp(-r*r/4)
	}
	// wᵀx or wᵀy changes sign between arcs.
	const quarter = math.Pi / 2
	edges := [5]float64{-quarter, p.turn - quarter, quarter, p.turn + quarter, 3 * quarter}
	for arc, lo := range edges[:4] {
		if !(lo < edges[arc+1]) {
			continue
		}
		quad.Legendre{}.FixedLocations(angles, turns, lo, edges[arc+1])
		for j, phi := range angles {
			u, v, root := p.sx*math.Cos(phi), p.sy*math.Cos(phi-p.turn), math.Sqrt(turns[j])
			for i, r := range distances {
				var z float64
				for _, f := range p.f {
					z += f(r*u) * f(r*v)
				}
				g(z, root*weights[i])
			}
		}
	}
}

// finite returns how far out f is finite, from 10 to 38 standard deviations.
func (p *plane) finite() float64 {
	at := 10.0
	for ; at < 38; at += 0.25 {
		for _, t := range [4]float64{-p.sx, p.sx, -p.sy, p.sy} {
			for _, f := range p.f {
				if v := f(t * (at + 0.25)); math.IsNaN(v - v) {
					return at
				}
			}
		}
	}
	return at
}
