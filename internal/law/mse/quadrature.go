package mse

import (
	"cmp"
	"math"
	"slices"
)

// quadrature integrates adaptively: it halves the panel of the largest error until the errors are
// small, as QAG does [Piessens et al. 1983].
type quadrature struct {
	relative float64 // the error to reach, over the integral of the size
	noise    float64 // or noise·(noise + the root of that integral)
	absolute float64 // or this one
	panels   int     // of one integral, at most
	left     int     // values of functions before it gives up
}

// integrand returns a value at t and the error of this value, which may be as large as tolerance.
// Errors count relative to size, which is at least the absolute value.
type integrand = func(t, tolerance float64) (value, err, size float64)

// panel is an interval with the integrals of the value and of the size over it. err is the error of
// the integral of the value.
type panel struct{ lo, hi, value, err, size float64 }

// integrate returns panels between the ascending edges, and in all the integral of f over all
// panels, an estimate of its error, and the integral of the size. The error reaches the goal unless
// panels or values run out. It is infinite if values run out before every panel has an integral.
func (q *quadrature) integrate(f integrand, edges []float64) (all panel, panels []panel) {
	if len(edges) < 2 {
		return panel{}, nil
	}
	panels = make([]panel, len(edges)-1, 2*len(edges))
	for i := range panels {
		panels[i] = panel{lo: edges[i], hi: edges[i+1]}
	}
	// The panels go from the middle outwards: most of the integral is known first and tells which
	// errors matter.
	slices.SortFunc(panels, func(a, b panel) int { return cmp.Compare(math.Abs(a.lo+a.hi), math.Abs(b.lo+b.hi)) })
	all = panel{lo: edges[0], hi: edges[len(edges)-1]}
	for i, p := range panels {
		if q.left < 0 {
			all.err = math.Inf(1)
			return all, panels
		}
		panels[i] = q.panel(f, p.lo, p.hi, q.goal(all.size)/(all.hi-all.lo))
		all.size += panels[i].size
	}
	for {
		all.value, all.err, all.size = 0, 0, 0
		worst := 0
		for i, p := range panels {
			all.value, all.err, all.size = all.value+p.value, all.err+p.err, all.size+p.size
			if p.err > panels[worst].err {
				worst = i
			}
		}
		p := panels[worst]
		mid := p.lo + (p.hi-p.lo)/2
		if !(all.err > q.goal(all.size)) || len(panels) >= q.panels || q.left < 0 || mid <= p.lo || mid >= p.hi {
			return all, panels
		}
		tolerance := q.goal(all.size) / (all.hi - all.lo)
		panels[worst] = q.panel(f, p.lo, mid, tolerance)
		panels = append(panels, q.panel(f, mid, p.hi, tolerance))
	}
}

// goal returns the error to reach for an integral of the size.
func (q *quadrature) goal(size float64) float64 {
	return math.Max(q.absolute, math.Max(q.relative*size, q.noise*(q.noise+math.Sqrt(size))))
}

// The Gauss–Kronrod rule of 15 points, from the outermost point to the middle. Points of odd index
// are the 7 points of Gauss.
var (
	kronrodNodes = [8]float64{
		0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
		0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
		0.207784955007898467600689403773245, 0,
	}
	kronrodWeights = [8]float64{
		0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
		0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
		0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
	}
	gaussWeights = [4]float64{
		0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975,
		0.417959183673469387755102040816327,
	}
)

// nearEnd is a point next to the end of a panel. endWeights are the weights of the polynomial
// through the 15 points at −nearEnd, for the points −node and node in turn.
const nearEnd = 1 - 1e-9

var endWeights = func() (weights [8][2]float64) {
	nodes := make([]float64, 0, 15)
	for _, node := range kronrodNodes[:7] {
		nodes = append(nodes, -node, node)
	}
	nodes = append(nodes, 0)
	for j, at := range nodes {
		w := 1.0
		for k, other := range nodes {
			if k != j {
				w *= (-nearEnd - other) / (at - other)
			}
		}
		weights[j/2][j%2] = w
	}
	return weights
}()

// panel integrates over one panel.
func (q *quadrature) panel(f integrand, lo, hi, tolerance float64) panel {
	q.left -= 17
	mid, half := lo+(hi-lo)/2, (hi-lo)/2
	var kronrod, difference, moment, size, own float64
	var ends [2]float64 // values of the polynomial less values of f
	for j, at := range [2]float64{-nearEnd, nearEnd} {
		v, _, _ := f(mid+half*at, tolerance)
		ends[j] = -v
	}
	for i, node := range kronrodNodes {
		for j, at := range [2]float64{-node, node} {
			v, e, s := f(mid+half*at, tolerance)
			w, apart := kronrodWeights[i], kronrodWeights[i]
			if i%2 == 1 {
				apart -= gaussWeights[i/2]
			}
			kronrod += w * v
			size += w * s
			own += w * e
			difference += apart * v
			moment += apart * v * at
			ends[0] += endWeights[i][j] * v
			ends[1] += endWeights[i][(j+1)%2] * v
			if node == 0 {
				ends[1] += (endWeights[i][0] - endWeights[i][1]) * v
				break
			}
		}
	}
	// The difference of the rules is the error of the rule of 7 points. The error of 15 points is
	// smaller by orders of magnitude where f is smooth, and not much smaller elsewhere. A kink may
	// hide from one difference, but hardly from the difference for t·f too, except in the gaps
	// between the ends and the next points. The values at the ends show it there.
	gap := 1 - kronrodNodes[0]
	err := math.Max(math.Abs(difference), math.Abs(moment)) + gap*(math.Abs(ends[0])+math.Abs(ends[1]))
	return panel{lo, hi, kronrod * half, (err + 50*0x1p-53*size + own) * half, size * half}
}
