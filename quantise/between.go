package quantise

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

func (c *codes[T]) Between(i, j int, by Measure) Estimate {
	all := c.rows()
	if n := all.n; i < 0 || i >= n || j < 0 || j >= n {
		panic(fmt.Sprintf("quantise: rows %d and %d of %d", i, j, n))
	}
	c.checkMeasure(by)
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
		different, n := 0, float64(q.elements())
		for w, v := range a.words {
			different += bits.OnesCount64(v ^ b.words[w])
		}
		return Estimate{math.Cos(math.Pi * float64(different) / n), q.signError(different)}
	}
	product, square := q.product(a, b), (q.product(a, a)+q.product(b, b))/2
	if q.options.Scheme != Uniform {
		value, deviation := q.pairs(0).Cosine(product, square, 1)
		return Estimate{value, deviation}
	}
	// The law is the law of the geometric mean of both ranges, to which each code is scaled.
	both, uneven := a.ratio*b.ratio, (a.ratio/b.ratio+b.ratio/a.ratio)/2
	key := math.Round(-rangesPerOctave / 2 * math.Log2(both))
	value, deviation := q.pairs(uint8(max(key, 0))).Cosine(product*both, square*both, uneven)
	return Estimate{value, deviation}
}

// rangesPerOctave is the number of ranges r of Uniform between 1 and ½ for which pairs computes a
// law.
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

// equals reports whether two rows have the same code, numbers and centre.
func (a code) equals(b code) bool {
	return a.norm == b.norm && a.ratio == b.ratio && a.centreProduct == b.centreProduct && a.cluster == b.cluster && slices.Equal(a.words, b.words)
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
	q.signs.Do(func() { q.signErrors = make([]atomic.Uint64, q.elements()+1) })
	kept := &q.signErrors[different]
	if v := math.Float64frombits(kept.Load()); v > 0 {
		return v
	}
	// The fraction of differing signs is uncertain by at least half a sign.
	n := float64(q.elements())
	theta := math.Pi / n * min(max(float64(different), 0.5), n-0.5)
	v := math.Pi * math.Sin(theta) * math.Sqrt(codelaw.SignsBetween(q.out, theta)/float64(len(q.rotations)))
	kept.Store(math.Float64bits(v))
	return v
}

// product returns sᵀs' of two rows.
func (q *quantiser[T]) product(a, b code) float64 {
	mask, sum := uint64(1)<<q.width-1, 0.0
	for w, v := range a.words {
		u := b.words[w]
		for range 64 / q.width {
			sum += float64(float64(q.levels[v&mask]) * float64(q.levels[u&mask]))
			v >>= q.width
			u >>= q.width
		}
	}
	// Codes beyond the last element are 0 in both rows.
	beyond := float64(q.words*64/q.width - q.elements())
	return sum - float64(beyond*float64(q.levels[0])*float64(q.levels[0]))
}
