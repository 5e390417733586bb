package quantise

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
)

// share returns t = yᵀc/‖c‖², which minimises ‖y − tc‖, and 1 − t. For the origin t is 0.
func (c *centre[T]) share(y []T) (t, short float64) {
	if c.square == 0 {
		return 0, 1
	}
	for i, v := range c.vector {
		short += float64((float64(v) - float64(y[i])) * float64(v))
	}
	short /= c.square
	if t = 1 - short; math.Abs(t) >= 0x1p-10 {
		return t, short
	}
	// y is short or nearly orthogonal to c, and the difference 1 − short has lost digits of t.
	t = 0
	for i, v := range c.vector {
		t += float64(float64(v) * float64(y[i]))
	}
	return t / c.square, short
}

// fullNorm returns ‖x‖ of a row x with the centre c.
func (c *centre[T]) fullNorm(x code) float64 {
	return math.Sqrt(max(0, float64(x.norm*x.norm)+2*x.centreProduct+c.square))
}

// pair is two rows x = a + c and y = b + e with centres c and e. estimated is the estimate of
//
//	aᵀb + aᵀ(e − tc) + bᵀ(c − ue)
//
// where t is share(e) of c and u is share(c) of e. All measures follow from it and from the exact
// product = xᵀy − estimated and distance = ‖x − y‖² + 2·estimated.
type pair struct {
	estimated         Estimate
	product, distance float64
}

// betweenCentred estimates a measure of two rows. At least one row has a centre other than the
// origin.
func (q *quantiser[T]) betweenCentred(x, y code, by Measure) Estimate {
	c, e := &q.centres[x.cluster], &q.centres[y.cluster]
	p := pair{product: x.centreProduct + y.centreProduct + c.square, distance: float64(x.norm*x.norm) + float64(y.norm*y.norm)}
	if x.cluster != y.cluster {
		p = q.apart(x, y)
	} else if scale := x.norm * y.norm; scale > 0 {
		p.estimated = q.cosineBetween(x, y)
		p.estimated.Value *= scale
		p.estimated.StdErr *= scale
	}
	sum := p.estimated
	switch by {
	case SquaredDistance:
		return Estimate{p.distance - 2*sum.Value, 2 * sum.StdErr}
	case Cosine:
		norms := c.fullNorm(x) * e.fullNorm(y)
		if norms == 0 {
			return Estimate{}
		}
		return Estimate{(p.product + sum.Value) / norms, sum.StdErr / norms}
	}
	return Estimate{p.product + sum.Value, sum.StdErr}
}

// apart returns the pair of two rows of different centres. The error of the code of a has a random
// direction orthogonal to a, and is multiplied by y − tc. The error of the code of b is multiplied
// by x − ue.
func (q *quantiser[T]) apart(x, y code) pair {
	c, e := &q.centres[x.cluster], &q.centres[y.cluster]
	t, restX := c.share(e.vector)
	u, restY := e.share(c.vector)
	inner := x.norm * y.norm * q.product(x, y) * x.ratio * y.ratio * float64(len(q.rotations))
	squareX, squareY := x.norm*x.norm, y.norm*y.norm
	toE, toC := q.toward(x, c, e, t), q.toward(y, e, c, u)
	p := pair{
		product:  float64(t*x.centreProduct) + float64(u*y.centreProduct) + float64(t*c.square),
		distance: squareX + squareY + squaredDistance(c.vector, e.vector) + float64(2*restX*x.centreProduct) + float64(2*restY*y.centreProduct),
	}
	p.estimated.Value = inner + toE + toC

	along, acrossX, acrossY := 1.0, 0.0, 0.0
	if q.options.Scheme == RaBitQ {
		acrossX, acrossY = max(0, q.lengthSquare(x)-1), max(0, q.lengthSquare(y)-1)
	} else {
		m := q.theory()
		along = m.Along
		acrossX = max(0, m.Square-m.AlongSquare)
		acrossY = acrossX
	}
	// ‖y − tc‖² with y − tc = b + (e − tc), and bᵀc = toC + u·bᵀe.
	lengthX := float64(squareY) + squareApart(e, c, t) + 2*(y.centreProduct-float64(t*(toC+float64(u*y.centreProduct))))
	lengthY := float64(squareX) + squareApart(c, e, u) + 2*(x.centreProduct-float64(u*(toE+float64(t*x.centreProduct))))
	rest := float64(q.out - 1)
	inner /= along * along
	toE /= along
	toC /= along
	variance := float64(squareX * acrossX * max(0, lengthX*acrossX/rest, lengthX-float64((inner+toE)*(inner+toE)/max(squareX, math.SmallestNonzeroFloat64))))
	variance += float64(squareY * acrossY * max(0, lengthY*acrossY/rest, lengthY-float64((inner+toC)*(inner+toC)/max(squareY, math.SmallestNonzeroFloat64))))
	variance += float64(squareX * squareY * acrossX * acrossY)
	bias := float64((float64(along*along)-1)*inner) + float64((along-1)*(toE+toC))
	p.estimated.StdErr = math.Hypot(math.Sqrt(variance/rest/float64(len(q.rotations))), bias)
	return p
}

// squareApart returns ‖e − tc‖².
func squareApart[T dense.Float](e, c *centre[T], t float64) (sum float64) {
	for i, v := range e.vector {
		d := float64(v) - float64(t*float64(c.vector[i]))
		sum += float64(d * d)
	}
	return sum
}

// toward estimates (x−c)ᵀ(e − tc).
func (q *quantiser[T]) toward(x code, c, e *centre[T], t float64) float64 {
	m := q.rows.Get()
	defer q.rows.Put(m)
	q.prepare(m)
	scan.Unpack(m.codes, x.words, q.width)
	sum := 0.0
	for i, k := range m.codes {
		sum += float64(float64(q.levels[k]) * (float64(e.rotated[i]) - float64(t*float64(c.rotated[i]))))
	}
	return x.norm * x.ratio * sum
}
