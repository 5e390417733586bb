package codelaw

import (
	"math"
	"sort"
)

// Pairs is the law of the codes s and s' of two unit vectors in R^d at the angle φ. A = sᵀs' has
// the mean f(φ), and B = (‖s‖²+‖s'‖²)/2 has the mean f(0). The errors of A and B are correlated.
// For this reason A − a·(B − f(0)) with the best share a has less variance than A.
type Pairs struct {
	d      float64
	square float64 // f(0)
	least  float64 // the smallest B − A of codes that differ
	nodes  [pairIntervals + 1]pairNode
}

// pairNode is the law at one angle.
type pairNode struct {
	angle    float64
	lost     float64 // f(0) − f(φ)
	slope    float64 // its derivative
	share    float64 // a
	variance float64 // d times the variance of A − a·(B − f(0))
}

// pairIntervals is the number of intervals of the table. Nodes are dense at small angles.
const pairIntervals = 40

// Pairs computes a table of the law for codes in R^d, d ≥ 4. The mean f is exact, and the variance
// is the limit for large d. The cost is 120 sums over all pairs of edges.
//
// Let P be the probability that two coordinates of a uniform unit vector lie in the intersection of
// two half-planes of R² at distances t and t' from the origin. The derivative of P with respect to
// the angle of the half-planes is −(1−r²)₊^((d−2)/2)/2π, where r is the distance of their corner
// from the origin. Hence the derivative of f is a sum over all pairs of edges, weighted with the
// jumps of s. For large d this is the theorem of [Price 1958], with e^(−dr²/2). It also holds for
// products of s² and s³.
//
// The variance is a sum over coordinates, which are normal for large d. ‖u‖, ‖v‖ and uᵀv are given,
// so the part of each summand that is linear in u_i², v_i² and u_iv_i has no variance. This part is
// the second-order term of the Hermite expansion, whose coefficients are the means of second
// derivatives.
func (c Cells) Pairs(d int) *Pairs {
	p := &Pairs{d: float64(d), square: c.Moments(d).Square}
	smallest := 2 * c.Levels[0]
	for j := 1; j < len(c.Levels); j++ {
		smallest = min(smallest, c.jump(j))
	}
	p.least = smallest * smallest / 2

	e := newEdges(c, p.d)
	var lost edgeSums
	last, before := 1e-9, e.sums(1e-9) // sums at 0 are 0/0
	p.nodes[0] = pairNode{slope: before.exact, share: 1}
	for k := 1; k <= pairIntervals; k++ {
		share := float64(k) / pairIntervals
		angle := math.Pi / 2 * share * share * share
		// This is the Gauss–Lobatto rule with four points.
		inner := (angle - last) / 2 / math.Sqrt(5)
		middle := (last + angle) / 2
		here := e.sums(angle)
		lost.add((angle-last)/12, before)
		lost.add((angle-last)/12*5, e.sums(middle-inner))
		lost.add((angle-last)/12*5, e.sums(middle+inner))
		lost.add((angle-last)/12, here)
		p.nodes[k] = e.node(angle, lost, here)
		last, before = angle, here
	}
	return p
}

// Cosine estimates the cosine from A and B, with its standard error. If the codes are scaled by
// factors with the ratio q, uneven is (q + 1/q)/2; otherwise it is 1. The estimate is in [−1, 1].
// The standard error is at least that of codes that differ by half the smallest step in one
// coordinate.
func (p *Pairs) Cosine(product, square, uneven float64) (cosine, deviation float64) {
	less := square - math.Abs(product)
	angle := p.angle(less)
	for range 2 {
		angle = p.angle(less - (1-p.at(angle).share)*(square-p.square*uneven))
	}
	n := p.at(max(min(angle, math.Pi-angle), p.angle(p.least/2)))
	// Codes of unequal scale differ even if the angle is 0.
	cosine = min(1, math.Cos(angle)+(uneven-1))
	return math.Copysign(1, product) * cosine, math.Sin(n.angle) * math.Sqrt(n.variance/p.d) / n.slope
}

// angle returns the φ with f(0) − f(φ) = lost, by Hermite interpolation.
func (p *Pairs) angle(lost float64) float64 {
	switch {
	case !(lost > 0):
		return 0
	case lost >= 2*p.square:
		return math.Pi
	case lost > p.square:
		return math.Pi - p.angle(2*p.square-lost)
	}
	k := sort.Search(pairIntervals-1, func(k int) bool { return p.nodes[k+1].lost >= lost })
	a, b := &p.nodes[k], &p.nodes[k+1]
	h := b.lost - a.lost
	t := min((lost-a.lost)/h, 1)
	return a.angle + t*(t*(3-2*t)*(b.angle-a.angle)+(1-t)*h*((1-t)/a.slope-t/b.slope))
}

// at interpolates the law, except lost, at an angle up to π/2.
func (p *Pairs) at(angle float64) pairNode {
	angle = min(angle, math.Pi/2)
	k := sort.Search(pairIntervals-1, func(k int) bool { return p.nodes[k+1].angle >= angle })
	a, b := &p.nodes[k], &p.nodes[k+1]
	t := (angle - a.angle) / (b.angle - a.angle)
	between := func(x, y float64) float64 { return x + t*(y-x) }
	return pairNode{
		angle: angle, slope: between(a.slope, b.slope),
		share: between(a.share, b.share), variance: between(a.variance, b.variance),
	}
}

// edges are the edges of s as a function of a normal variate x, and the jumps of s, s² and s³ at
// the edges. The jumps at 0 are the values for small x > 0.
type edges struct {
	d                            float64
	at, jumps, squares, cubes    []float64
	meanSquare, meanFourth, bend float64 // E s², E s⁴ and E (s²)''
}

func newEdges(c Cells, d float64) *edges {
	e := &edges{d: d}
	root, last := math.Sqrt(d), 0.0
	for j, edge := range c.Edges {
		t, level := edge*root, c.Levels[j]*root
		square := level*level - last*last
		e.at, e.jumps = append(e.at, t), append(e.jumps, level-last)
		e.squares, e.cubes = append(e.squares, square), append(e.cubes, level*level*level-last*last*last)
		beyond := math.Erfc(t / math.Sqrt2)
		e.meanSquare += square * beyond
		e.meanFourth += square * (level*level + last*last) * beyond
		e.bend += square * t * math.Exp(-t*t/2) * math.Sqrt(2/math.Pi)
		last = level
	}
	return e
}

// edgeSums are differences of moments at the angles 0 and φ, or the derivatives of these
// differences: exact for f, and for normal variates x and y with the correlation ρ = cos φ, product
// for E ss', square for E s²s'², cube for E s³s', and bend for the mean of ∂²ss'/∂x² +
// ρ·∂²ss'/∂x∂y.
type edgeSums struct{ exact, product, square, cube, bend float64 }

func (s *edgeSums) add(weight float64, t edgeSums) {
	s.exact += weight * t.exact
	s.product += weight * t.product
	s.square += weight * t.square
	s.cube += weight * t.cube
	s.bend += weight * t.bend
}

// sums returns the derivatives with respect to the angle.
func (e *edges) sums(angle float64) (s edgeSums) {
	const negligible = 60 // the r² from which on e^(−r²/2) is negligible
	sin, sinHalf, cosHalf := math.Sin(angle), math.Sin(angle/2), math.Cos(angle/2)
	for i, t := range e.at {
		for j, u := range e.at[:i+1] {
			// r² for the edges t and u, and for t and −u.
			apart := (t - u) / sin
			apart *= apart
			same := apart + t*u/(cosHalf*cosHalf)
			if same > negligible {
				continue
			}
			weight := 2 / math.Pi // of (t, u), (u, t) and both with opposite signs
			if i == j {
				weight /= 2
			}
			x, uniform := math.Exp(-same/2), e.uniform(same)
			y := 0.0
			opposite := apart + t*u/(sinHalf*sinHalf)
			if opposite < negligible {
				y = math.Exp(-opposite / 2)
				uniform += e.uniform(opposite)
			}
			jumps := weight * e.jumps[i] * e.jumps[j]
			s.exact += jumps * uniform
			s.product += jumps * (x + y)
			s.square += weight * e.squares[i] * e.squares[j] * (x - y)
			s.cube += weight / 2 * (e.cubes[i]*e.jumps[j] + e.jumps[i]*e.cubes[j]) * (x + y)
			s.bend += jumps / 2 * (same*x + opposite*y)
		}
	}
	return s
}

// uniform returns (1−r²)^((d−2)/2) for d·r².
func (e *edges) uniform(square float64) float64 {
	if square >= e.d {
		return 0
	}
	return math.Exp((e.d - 2) / 2 * math.Log1p(-square/e.d))
}

// node computes the law at an angle from the regression of P − Q on Q, where P = ss' and Q =
// (s²+s'²)/2. P − Q vanishes at the angle 0. p1, q1 are the coefficients of second-order terms in
// the direction (1, 1), and p2, q2 in the direction (1, −1).
func (e *edges) node(angle float64, lost, slope edgeSums) pairNode {
	sin, sinHalf, cosHalf := math.Sin(angle), math.Sin(angle/2), math.Cos(angle/2)
	plus, minus := 2*cosHalf*cosHalf, 2*sinHalf*sinHalf // 1 ± ρ
	p1, p2 := sin*slope.product-plus*lost.bend, -sin*slope.product-minus*lost.bend
	q1, q2 := plus*e.bend/2, minus*e.bend/2
	difference := 2*lost.cube - 1.5*lost.square - lost.product*lost.product - (p1*p1+p2*p2)/2
	both := lost.square/2 - lost.cube + lost.product*e.meanSquare - (p1*q1+p2*q2)/2
	squares := e.meanFourth - lost.square/2 - e.meanSquare*e.meanSquare - (q1*q1+q2*q2)/2
	more := both / squares
	if squares < 1e-9*e.meanFourth { // Q is constant for a single level
		more = 0
	}
	return pairNode{angle: angle, lost: lost.exact, slope: slope.exact, share: 1 + more, variance: max(0, difference-more*both)}
}
