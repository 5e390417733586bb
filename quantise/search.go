package quantise

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

// Measure is what is estimated of a row x and a query y.
type Measure int

// The measures.
const (
	InnerProduct    Measure = iota // xᵀy
	Cosine                         // xᵀy/(‖x‖‖y‖), and 0 if a norm is 0
	SquaredDistance                // ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy
)

func (by Measure) valid() bool { return by >= InnerProduct && by <= SquaredDistance }

// Estimate is an estimated number with the root of its mean squared error by theory, over random
// rotations. The theory takes the estimate for the cosine that it needs. A StdErr of 0 says that
// the number is exact.
type Estimate struct{ Value, StdErr float64 }

// Hit is a row that a search found.
type Hit struct {
	Segment int // which of the Codes that were searched, from 0
	ID      int // the number of the row in them
	Estimate
}

// Search finds the len(dst) rows with the largest estimated inner products or cosines with the
// query (d numbers), or the smallest estimated distances, writes them into dst, best first, and
// returns dst, cut off if there are fewer rows. Of rows with equal estimates the one with the lower
// number comes first. The function Search has filters, many queries, several Codes and exact rows.
//
// Values are those of Estimates. Codes of 1 bit, and those of QJL with any number of bits, are first
// compared with the query rounded to 63 steps between its largest coordinate and the negative of that, whose error is about a twentieth
// of a standard error; the rows found have estimates from the query as it is, and are sorted by
// those. Queries may have any finite size: values that float64 cannot hold are ±Inf, and rows of equal
// values have the order of their numbers. If the query holds NaN or ±Inf, every value is NaN and the
// rows are the first ones.
//
// The best of many estimates are biased upwards: errors in their favour brought them there. StdErr
// is the error of a row that was chosen in advance. For RaBitQ StdErr belongs to the code itself,
// for other schemes to an average code.
//
// Cost: a rotation and a pass over all codes, in parallel, and O(log len(dst)) for each row that is
// among the best so far. Search allocates nothing once its memory has grown. It panics if the query
// has not d elements or if there is no such measure.
func (c *Codes[T]) Search(dst []Hit, query []T, by Measure) []Hit {
	c.check(query, by)
	s := c.q.begin(by)
	s.add(c)
	s.prepare(0, query, len(dst))
	s.run()
	dst = s.queries[0].write(s, dst)
	s.end()
	return dst
}

// Estimates writes the estimates for the first len(dst) rows and a query (d numbers) into dst and
// returns dst. A nil dst is allocated for all rows. With s for what a code stands for and p for the
// rotated query, the estimate of the inner product is ‖x‖·sᵀp, with sums in float32, or of whole
// numbers where p is rounded to two bytes a coordinate ("Speed" in the package's documentation
// says for which codes, and what that adds); those of the cosine and of the squared distance follow
// with the norms. The estimate of a cosine may lie outside [−1, 1] and that of a squared distance
// below 0. Queries that make every estimate NaN are those of Search. Cost: a rotation and a pass
// over the codes of these rows, in parallel. It panics if dst has more elements than there are
// rows, if the query has not d, or if there is no such measure.
func (c *Codes[T]) Estimates(dst []float64, query []T, by Measure) []float64 {
	c.check(query, by)
	s := c.q.begin(by)
	s.add(c)
	all := &s.segments[0].rows
	if dst == nil {
		dst = make([]float64, all.n)
	}
	if len(dst) > all.n {
		panic(fmt.Sprintf("quantise: dst has %d elements, want at most %d", len(dst), all.n))
	}
	all.n = len(dst)
	s.values = dst
	s.prepare(0, query, 0)
	s.run()
	s.end()
	return dst
}

func (c *Codes[T]) check(query []T, by Measure) {
	if c.q == nil {
		panic(errZero.Error())
	}
	if len(query) != c.q.in {
		panic(fmt.Sprintf("quantise: query has %d elements, want %d", len(query), c.q.in))
	}
	c.checkMeasure(by)
}

func (c *Codes[T]) checkMeasure(by Measure) {
	if !by.valid() {
		panic(errMeasure(by).Error())
	}
}

func errMeasure(by Measure) error {
	return fmt.Errorf("quantise: measure %d, want one of the constants", int(by))
}

// write puts the best rows of a query into dst, best first, and returns as many as there are.
func (x *query[T]) write(s *search[T], dst []Hit) []Hit {
	if x.norm != x.norm {
		dst = dst[:s.first(dst)]
		for i := range dst {
			dst[i].Estimate = Estimate{x.norm, x.norm}
		}
		return dst
	}
	dst = dst[:len(x.best)]
	s.byCentre(x.best)
	for i, b := range x.best {
		segment, id := s.locate(b.row)
		dst[i] = Hit{segment, id, s.estimate(x, s.segments[segment].rows.code(id, s.q.words))}
	}
	order(dst, s.by)
	return dst
}

// order sorts hits, best first.
func order(hits []Hit, by Measure) {
	compare := higher
	if by == SquaredDistance {
		compare = lower
	}
	slices.SortFunc(hits, compare)
}

func higher(a, b Hit) int { return cmp.Or(cmp.Compare(b.Value, a.Value), before(a, b)) }
func lower(a, b Hit) int  { return cmp.Or(cmp.Compare(a.Value, b.Value), before(a, b)) }

func before(a, b Hit) int {
	return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.ID, b.ID))
}

// value returns the estimate for a row of the given norm from that of the cosine. Here and in what follows,
// conversions of products keep compilers from fusing them with sums, which would give other bits on
// other processors.
func (s *search[T]) value(x *query[T], norm, along, cosine float64) float64 {
	if x.exponent != 0 && s.by != Cosine {
		product := 0.0
		switch {
		case x.centre != nil:
			product = x.about(InnerProduct, norm, along, cosine)
			norm = x.whole(norm, along)
		case norm > 0:
			product = norm * x.norm * cosine
		}
		if s.by == InnerProduct {
			return math.Ldexp(product, x.exponent)
		}
		return x.withSquare(float64(norm*norm) - math.Ldexp(2*product, x.exponent))
	}
	if x.centre != nil {
		return x.about(s.by, norm, along, cosine)
	}
	if norm == 0 {
		cosine = 0
	}
	switch s.by {
	case InnerProduct:
		return norm * x.norm * cosine
	case SquaredDistance:
		return float64(norm*norm) + float64(x.norm*x.norm) - float64(2*norm*x.norm*cosine)
	}
	if x.norm != x.norm {
		return x.norm
	}
	return cosine
}

// estimate returns the value for a row and its error.
func (s *search[T]) estimate(of *query[T], c code) Estimate {
	x, d := s.aimed(of, c.cluster)
	cosine := s.product(c.words, x, d) * c.ratio
	e := Estimate{Value: s.value(x, c.norm, c.along, cosine)}
	if c.norm == 0 || x.norm == 0 {
		return e
	}
	var moments codelaw.Moments
	if s.q.options.Scheme == RaBitQ {
		moments = codelaw.Moments{Along: 1, AlongSquare: 1, Square: s.q.product(c, c) * c.ratio * c.ratio}
	} else {
		moments = s.q.theory()
	}
	e.StdErr = s.q.deviation(moments, cosine)
	switch s.by {
	case InnerProduct:
		e.StdErr = math.Ldexp(e.StdErr*(c.norm*x.norm), x.exponent)
	case SquaredDistance:
		e.StdErr = math.Ldexp(e.StdErr*(2*c.norm*x.norm), x.exponent)
	case Cosine:
		if x.centre == nil {
			break
		}
		if whole := x.whole(c.norm, c.along) * of.norm; whole > 0 {
			e.StdErr *= c.norm * x.norm / whole
		} else {
			e.StdErr = 0
		}
	}
	return e
}

// deviation returns the root of the mean squared error of an estimate of a cosine, from codes with
// the moments, with the estimate itself for the cosine.
func (q *Quantiser[T]) deviation(m codelaw.Moments, estimate float64) float64 {
	n := float64(len(q.rotations))
	across := max(0, m.Square-m.AlongSquare) / float64(q.out-1)
	rho := min(max(estimate/m.Along, -1), 1)
	// 1 − ρ² is not known better than to its error: an estimate of 1 or more is no proof that ρ is
	// 1.
	square := float64(rho * rho)
	variance := float64(square*max(0, m.AlongSquare-float64(m.Along*m.Along))) + float64(max(1-square, across/n)*across)
	bias := rho * (m.Along - 1)
	return math.Sqrt(variance/n + float64(bias*bias))
}
