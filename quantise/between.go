package quantise

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

func (c *codes[T]) Between(i, j int, by Measure) Estimate {
	all := c.rows()
	if n := all.n; i < 0 || i >= n || j < 0 || j >= n {
		panic(fmt.Sprintf("quantise: rows %d and %d of %d", i, j, n))
	}
	if !by.valid() {
		panic(errMeasure(by).Error())
	}
	a, b := all.code(i, c.q.words), all.code(j, c.q.words)
	if c.q.width > 1 && a.equals(b) {
		return c.q.same(a, by)
	}
	if a.cluster != 0 || b.cluster != 0 {
		return c.q.betweenCentred(a, b, by)
	}
	x, y := a.norm, b.norm
	var e Estimate
	if x > 0 && y > 0 {
		e = c.q.cosineBetween(a, b)
	}
	switch by {
	case InnerProduct:
		e.Value *= x * y
		e.StdErr *= x * y
	case SquaredDistance:
		e.Value = float64(x*x) + float64(y*y) - float64(2*x*y*e.Value)
		e.StdErr *= 2 * x * y
	}
	return e
}

func (q *quantiser[T]) cosineBetween(a, b code) Estimate {
	if q.width == 1 {
		different := a.different(b)
		return Estimate{Value: math.Cos(math.Pi * float64(different) / float64(q.elements)), StdErr: q.signError(different)}
	}
	product, square := q.codeProduct(a, b), (q.codeProduct(a, a)+q.codeProduct(b, b))/2
	if q.options.Scheme != Uniform {
		value, deviation := q.pairs(0).Cosine(product, square, 1)
		return Estimate{Value: value, StdErr: deviation}
	}
	// The law is the law of the geometric mean of both ranges, to which each code is scaled.
	both, uneven := a.ratio*b.ratio, (a.ratio/b.ratio+b.ratio/a.ratio)/2
	key := math.Round(-rangesPerOctave / 2 * math.Log2(both))
	value, deviation := q.pairs(uint8(max(key, 0))).Cosine(product*both, square*both, uneven)
	return Estimate{Value: value, StdErr: deviation}
}

// rangesPerOctave is the number of values of r, the largest |u_i| of a code of Uniform, between ½
// and 1 for which pairs computes a law.
const rangesPerOctave = 8

// pairs returns the law of pairs of codes, computed once. For Uniform it is the law of the range
// 2^(−key/rangesPerOctave). The cells of Uniform continue beyond this range, because a vector has
// no coordinate beyond its own range.
func (q *quantiser[T]) pairs(key uint8) *codelaw.Pairs {
	law, ok := q.pairLaws.Load(key)
	if !ok {
		law, _ = q.pairLaws.LoadOrStore(key, sync.OnceValue(func() *codelaw.Pairs {
			cells := q.cells
			if n := len(cells.Levels); q.options.Scheme == Uniform {
				cells = codelaw.Uniform(n+n/2, math.Exp2(-float64(key)/rangesPerOctave)/float64(n))
			}
			return cells.Pairs(q.out)
		}))
	}
	return law.(func() *codelaw.Pairs)()
}

// same returns the measure of a row with itself.
func (q *quantiser[T]) same(x code, by Measure) Estimate {
	norm := x.norm
	if x.cluster != 0 {
		norm = q.centres[x.cluster].fullNorm(x)
	}
	switch {
	case by == SquaredDistance || norm == 0:
		return Estimate{}
	case by == Cosine:
		return Estimate{Value: 1}
	}
	return Estimate{Value: norm * norm}
}

// signError returns the standard error of the cosine of two codes with this number of differing
// signs. It stores the results, because each takes a quadrature.
func (q *quantiser[T]) signError(different int) float64 {
	q.signs.Do(func() { q.signErrors = make([]atomic.Uint64, q.elements+1) })
	kept := &q.signErrors[different]
	if v := math.Float64frombits(kept.Load()); v > 0 {
		return v
	}
	// The fraction of differing signs is uncertain by at least half a sign.
	n := float64(q.elements)
	theta := math.Pi / n * min(max(float64(different), 0.5), n-0.5)
	v := math.Pi * math.Sin(theta) * math.Sqrt(codelaw.SignsBetween(q.out, theta)/float64(len(q.rotations)))
	kept.Store(math.Float64bits(v))
	return v
}

// betweenCentred estimates a measure of two rows. At least one row has a centre other than the
// origin.
func (q *quantiser[T]) betweenCentred(x, y code, by Measure) Estimate {
	c, e := &q.centres[x.cluster], &q.centres[y.cluster]
	product, distance := x.centreProduct+y.centreProduct+c.square, float64(x.norm*x.norm)+float64(y.norm*y.norm)
	var sum Estimate
	if x.cluster != y.cluster {
		sum, product, distance = q.apart(x, y)
	} else if scale := x.norm * y.norm; scale > 0 {
		sum = q.cosineBetween(x, y)
		sum.Value *= scale
		sum.StdErr *= scale
	}
	switch by {
	case SquaredDistance:
		return Estimate{Value: distance - 2*sum.Value, StdErr: 2 * sum.StdErr}
	case Cosine:
		norms := c.fullNorm(x) * e.fullNorm(y)
		if norms == 0 {
			return Estimate{}
		}
		return Estimate{Value: (product + sum.Value) / norms, StdErr: sum.StdErr / norms}
	}
	return Estimate{Value: product + sum.Value, StdErr: sum.StdErr}
}

// apart estimates, for two rows x = a + c and y = b + e with different centres c and e, the sum
//
//	aᵀb + aᵀ(e − tc) + bᵀ(c − ue)
//
// where t is share(e) of c and u is share(c) of e. All measures follow from the sum and from the
// exact product = xᵀy − sum and distance = ‖x − y‖² + 2·sum. The error of the code of a has a
// random direction orthogonal to a, and is multiplied by y − tc. The error of the code of b is
// multiplied by x − ue.
func (q *quantiser[T]) apart(x, y code) (sum Estimate, product, distance float64) {
	c, e := &q.centres[x.cluster], &q.centres[y.cluster]
	t, restX := c.share(e.vector)
	u, restY := e.share(c.vector)
	inner := x.norm * y.norm * q.codeProduct(x, y) * x.ratio * y.ratio * float64(len(q.rotations))
	squareX, squareY := x.norm*x.norm, y.norm*y.norm
	toE, toC := q.toward(x, c, e, t), q.toward(y, e, c, u)
	product = float64(t*x.centreProduct) + float64(u*y.centreProduct) + float64(t*c.square)
	distance = squareX + squareY + squaredDistance(c.vector, e.vector) + float64(2*restX*x.centreProduct) + float64(2*restY*y.centreProduct)
	sum.Value = inner + toE + toC

	along, acrossX, acrossY := 1.0, 0.0, 0.0
	if q.options.Scheme == RaBitQ {
		acrossX, acrossY = q.varianceOf(x), q.varianceOf(y)
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
	sum.StdErr = math.Hypot(math.Sqrt(variance/rest/float64(len(q.rotations))), bias)
	return sum, product, distance
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
	m := q.encoders.Get()
	defer q.encoders.Put(m)
	q.prepare(m)
	scan.Unpack(m.codes, x.words, q.width)
	sum := 0.0
	for i, k := range m.codes {
		sum += float64(float64(q.levels[k]) * (float64(e.rotated[i]) - float64(t*float64(c.rotated[i]))))
	}
	return x.norm * x.ratio * sum
}

// varianceOf returns ‖s‖²/(sᵀu)² − 1.
func (q *quantiser[T]) varianceOf(c code) float64 {
	if q.width == 1 {
		return max(0, q.codeProduct(c, c)*c.ratio*c.ratio-1)
	}
	return c.variance
}
