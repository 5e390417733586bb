package quantise

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

// Between estimates a measure of rows i and j from their codes alone.
//
// With one bit per coordinate the share h of signs that differ has the mean θ/π, exactly, where θ
// is the angle between the rows, and a variance that is known exactly; the estimate of the cosine
// is cos πh, and StdErr follows from that variance at πh by the slope of the cosine. With more bits
// the estimate is the inner product of the vectors that the codes stand for. Its error adds those
// of both codes: StdErr takes them as independent, which they are except for rows that are nearly
// equal. Such rows share their errors, which do not cancel then: the estimated cosine of a row with
// itself is the squared length of its code.
//
// With centres the same holds for x − c and y − c of rows of one centre c, and what remains of their inner
// product and distance is known exactly. For rows of two centres the estimate is the inner product of
// the vectors that the codes stand for with every number of bits, where the inner product of each with
// its own centre is known exactly.
//
// Cost: O(d'·Bits), and for one bit a quadrature the first time that a number of signs differs.
// Between panics if i or j is no row or if there is no such measure.
func (c *Codes[T]) Between(i, j int, by Measure) Estimate {
	all := c.rows()
	if n := all.n; i < 0 || i >= n || j < 0 || j >= n {
		panic(fmt.Sprintf("quantise: rows %d and %d of %d", i, j, n))
	}
	c.checkMeasure(by)
	a, b := all.code(i, c.q.words), all.code(j, c.q.words)
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
		e.Value = x*x + y*y - 2*x*y*e.Value
		e.StdErr *= 2 * x * y
	}
	return e
}

func (q *Quantiser[T]) cosineBetween(a, b code) Estimate {
	if q.width == 1 {
		different, n := 0, float64(q.elements())
		for w, v := range a.words {
			different += bits.OnesCount64(v ^ b.words[w])
		}
		return Estimate{math.Cos(math.Pi * float64(different) / n), q.signError(different)}
	}
	cosine := q.product(a, b) * a.ratio * b.ratio
	// With sᵀu = A and e = s − Au across u: the product is A²ρ, errors in each direction across,
	// and the product of the errors.
	along, across := 1.0, [2]float64{}
	if q.options.Scheme == RaBitQ {
		for k, one := range [...]code{a, b} {
			across[k] = max(0, q.lengthSquare(one)-1)
		}
	} else {
		m := q.theory()
		along = m.Along
		across[0] = max(0, m.Square-m.AlongSquare)
		across[1] = across[0]
	}
	rho := min(max(cosine/(along*along), -1), 1)
	rest := float64(q.out - 1)
	variance := (max(1-rho*rho, across[0]/rest)*along*along*(across[0]+across[1]) + across[0]*across[1]) / rest
	return Estimate{cosine, math.Hypot(math.Sqrt(variance), rho*(along*along-1))}
}

// signError returns the standard error of the cosine of two codes with so many different signs. The
// law takes a quadrature, hence results are kept.
func (q *Quantiser[T]) signError(different int) float64 {
	q.signs.Do(func() { q.signErrors = make([]atomic.Uint64, q.elements()+1) })
	kept := &q.signErrors[different]
	if v := math.Float64frombits(kept.Load()); v > 0 {
		return v
	}
	// No share is known better than to half a sign.
	n := float64(q.elements())
	theta := math.Pi / n * min(max(float64(different), 0.5), n-0.5)
	v := math.Pi * math.Sin(theta) * math.Sqrt(codelaw.SignsBetween(q.out, theta)/float64(len(q.rotations)))
	kept.Store(math.Float64bits(v))
	return v
}

// product returns sᵀs' of two rows.
func (q *Quantiser[T]) product(a, b code) float64 {
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
