package mse

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Plane returns the mean and the variance of Σ_k f_k(wᵀx)·f_k(wᵀy) over w ~ N(0, I), for any
// functions f: one term of an estimate with the features f_k(w_iᵀx)/√m. Both are integrals over the
// normal variables u = wᵀx and v = wᵀy. noise is the relative error of values of f, at least 2⁻⁵².
//
// The integral over v given u is inside the integral over u. Both use adaptive Gauss–Kronrod
// quadrature over 38 standard deviations, or up to where f stops being finite, at least 10.
// Bisection first finds the kinks and jumps of f, which become ends of panels. If x and y are
// collinear, or one is 0, one integral is left.
//
// ok tells whether the estimated error of the variance is at most 2e-7 of the variance (or 4e-3 for
// the noise of float32), or at most what 64 times the noise makes of a small difference. ok is
// false if f is not finite where it counts, if an integral diverges, or after ten million values of
// f. NaN or infinite coordinates give NaN. Plane panics if x and y differ in length or are empty.
func Plane(x, y []float64, f []func(t float64) float64, noise float64) (mean, variance float64, ok bool) {
	if z := newPair(x, y, 1); math.IsNaN(z.p) {
		return z.p, z.p, true
	}
	plus, minus := directions(x, y)
	square := plus*plus + minus*minus
	p := plane{
		f: f, at: make([]float64, len(f)),
		sx: floats.Norm(x, 2), sy: floats.Norm(y, 2),
		cos: (plus*plus - minus*minus) / square, sin: 2 * plus * minus / square,
		q: quadrature{relative: math.Sqrt(noise) / 10, panels: 500, left: 1e7},
	}
	if p.sin < 4*0x1p-52 || p.sx == 0 || p.sy == 0 {
		p.sin = 0
	}
	p.x, p.y = p.shape(p.sx), p.shape(p.sy)
	// The root of the density enters, which keeps squares within the range of float64.
	first := p.expectation(func(z, root float64) float64 { return z * root * root })
	p.q.noise = 64 * noise * first.size
	mean = first.value
	second := p.expectation(func(z, root float64) float64 {
		e := (z - mean) * root
		return e * e
	})
	worst := math.Max(100*p.q.relative*second.value, p.q.goal(second.value))
	return mean, second.value, !math.IsInf(second.value, 0) && second.err <= worst
}

// plane is what the integrals of Plane share.
type plane struct {
	f      []func(t float64) float64
	at     []float64 // f_k(u)
	sx, sy float64   // standard deviations of u and v
	// v is sy·(cos·g + sin·h) where u is sx·g, of g, h ~ N(0, 1); sin is 0 for one integral
	cos, sin float64
	x, y     shape // of f as a function of u and of v
	q        quadrature
}

// shape describes the functions f of a variable.
type shape struct {
	lo, hi float64   // where they are finite
	breaks []float64 // where they are not smooth
	ends   []float64 // of panels where they have waves, breaks included
}

// expectation returns the integral of g(z, √density), where z is Σ_k f_k(u)·f_k(v).
func (p *plane) expectation(g func(z, root float64) float64) panel {
	at := func(v, root float64) float64 {
		var z float64
		for k, f := range p.f {
			z += p.at[k] * f(v)
		}
		return g(z, root)
	}
	set := func(u float64) {
		for k, f := range p.f {
			p.at[k] = f(u)
		}
	}
	switch {
	case p.sx == 0 && p.sy == 0:
		set(0)
		v := at(0, 1)
		return panel{value: v, size: math.Abs(v)}
	case p.sx == 0:
		set(0)
		all, _ := p.q.integrate(func(t, _ float64) (value, err, size float64) {
			return plainly(at(p.sy*t, root(t)))
		}, p.y.edges(0, p.sy))
		return all
	}
	all, _ := p.q.integrate(func(t, tolerance float64) (value, err, size float64) {
		set(p.sx * t)
		if p.sin == 0 {
			return plainly(at(p.sy*p.cos*t, root(t)))
		}
		middle, width, outer := p.sy*p.cos*t, p.sy*p.sin, root(t)
		inner := p.q
		inner.relative, inner.noise, inner.absolute = p.q.relative/10, p.q.noise/10, tolerance/10
		all, _ := inner.integrate(func(t, _ float64) (value, err, size float64) {
			return plainly(at(middle+width*t, outer*root(t)))
		}, p.y.edges(middle, width))
		p.q.left = inner.left
		return all.value, all.err, all.size
	}, p.x.edges(0, p.sx, p.crossings()...))
	return all
}

// plainly returns an integrand without an error of its own.
func plainly(v float64) (value, err, size float64) { return v, 0, math.Abs(v) }

// crossings returns the places, in standard deviations of u, where the distribution of v given u
// crosses a break of f. The inner integral changes there.
func (p *plane) crossings() []float64 {
	var at []float64
	for _, b := range p.y.breaks {
		centre := b / (p.sy * p.cos)
		at = append(at, centre)
		for width := 3 * math.Abs(p.sin/p.cos); width > 0 && width < 1; width *= 8 {
			at = append(at, centre-width, centre+width)
		}
	}
	return at
}

// edges returns the ends of the first panels of a variable, in units of width from the middle.
// Panels are wider where the density is smaller. The ends include the given others.
func (s shape) edges(middle, width float64, others ...float64) []float64 {
	lo, hi := math.Max((s.lo-middle)/width, -38), math.Min((s.hi-middle)/width, 38)
	if !(lo < hi) {
		return nil
	}
	edges := []float64{lo, hi}
	add := func(t float64) {
		if t > lo && t < hi {
			edges = append(edges, t)
		}
	}
	for _, t := range []float64{0, 1.5, 3, 5, 8, 13, 21} {
		add(t)
		add(-t)
	}
	for _, v := range s.ends {
		add((v - middle) / width)
	}
	for _, t := range others {
		add(t)
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// shape returns the shape of f as a function of a variable of standard deviation s. An adaptive
// integral of a mixture of the f_k has very narrow panels at kinks and jumps. With these as ends, a
// second integral has narrow panels where f has waves.
func (p *plane) shape(s float64) shape {
	found := shape{lo: p.finite(-s), hi: p.finite(s)}
	if s == 0 {
		return found
	}
	const narrow, wide = 1.0 / 512, 0.7
	q := quadrature{relative: p.q.relative / 10, panels: 4000, left: 1e5}
	f := func(t, _ float64) (value, err, size float64) { return plainly(math.Exp(-t*t/4) * p.mixture(s*t)) }
	// Ends are not dyadic numbers, so that a break is inside a panel.
	first := found.edges(0, s)
	floats.AddConst(0.0377, first[1:len(first)-1])
	_, panels := q.integrate(f, first)
	for _, at := range valleys(panels, narrow) {
		found.breaks = append(found.breaks, s*q.narrow(f, at.lo, at.hi))
	}
	// Later integrals halve these panels where they need more.
	found.ends = found.breaks
	q.relative = math.Max(1e-6, q.relative)
	_, panels = q.integrate(f, found.edges(0, s))
	for _, at := range panels {
		if width := at.hi - at.lo; width > narrow && width < wide {
			found.ends = append(found.ends, s*at.lo, s*at.hi)
		}
	}
	return found
}

// valleys returns, for every run of neighbouring panels narrower than limit, the panel of the
// largest error.
func valleys(panels []panel, limit float64) []panel {
	slices.SortFunc(panels, func(a, b panel) int { return cmp.Compare(a.lo, b.lo) })
	var worst []panel
	inside := false
	for _, p := range panels {
		switch last := len(worst) - 1; {
		case p.hi-p.lo > limit:
			inside = false
		case !inside:
			worst, inside = append(worst, p), true
		case p.err > worst[last].err:
			worst[last] = p
		}
	}
	return worst
}

// narrow returns the place between lo and hi where f is not smooth, as closely as errors tell.
func (q *quadrature) narrow(f integrand, lo, hi float64) float64 {
	for hi-lo > 0x1p-60 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if q.panel(f, lo, mid, 0).err > q.panel(f, mid, hi, 0).err {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo + (hi-lo)/2
}

// finite returns how far out, up to 38·s and at least 10·s, f is finite.
func (p *plane) finite(s float64) float64 {
	at := 10.0
	for at < 38 {
		if v := p.mixture(s * (at + 0.25)); math.IsNaN(v - v) {
			break
		}
		at += 0.25
	}
	return s * at
}

// mixture returns a weighted sum of the f_k. The weights are such that terms cancel by chance
// alone.
func (p *plane) mixture(t float64) float64 {
	var sum float64
	for k, f := range p.f {
		sum += math.Sqrt(float64(k)+2) * f(t)
	}
	return sum
}

// root returns the root of the density of N(0, 1).
func root(t float64) float64 {
	const atZero = 0.6316187777460647 // (2π)^(−¼)
	return atZero * math.Exp(-t*t/4)
}
