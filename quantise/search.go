package quantise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/codelaw"
)

// Measure is a function of a row x and a query y that a search estimates.
type Measure int

// The measures.
const (
	InnerProduct    Measure = iota // xᵀy
	Cosine                         // xᵀy/(‖x‖‖y‖), and 0 if a norm is 0
	SquaredDistance                // ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy
)

func (by Measure) valid() bool { return by >= InnerProduct && by <= SquaredDistance }

// Estimate is an estimate and its root mean squared error over random rotations, by theory. The
// theory depends on the true cosine and uses the estimate in its place. A StdErr of 0 means an
// exact value.
type Estimate struct{ Value, StdErr float64 }

// Hit is a row in the result of a search.
type Hit struct {
	Segment int // the index of the Codes in the arguments of Search
	ID      int // the number of the row in these Codes
	Estimate
}

func (c *codes[T]) Search(dst []Hit, query []T, by Measure) []Hit {
	c.check(query, by)
	s := c.q.begin(by)
	s.add(c)
	s.prepare(0, query, len(dst))
	s.run()
	dst = s.queries[0].write(s, dst)
	s.end()
	return dst
}

func (c *codes[T]) Estimates(dst []float64, query []T, by Measure) []float64 {
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

func (q *quantiser[T]) Search(ctx context.Context, hits [][]Hit, queries dense.Matrix[T], by Measure, o SearchOptions[T], segments ...Codes[T]) error {
	if ctx == nil {
		panic("quantise: ctx is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	queries.Check()
	if err := q.checkOptions(&o, len(segments)); err != nil {
		return err
	}
	switch {
	case !by.valid():
		return errMeasure(by)
	case len(hits) != queries.Rows:
		return fmt.Errorf("quantise: %d lists of hits for %d queries", len(hits), queries.Rows)
	case len(segments) == 0:
		for i := range hits {
			hits[i] = hits[i][:0]
		}
		return nil
	}
	s := q.begin(by)
	defer s.end()
	for i, segment := range segments {
		c, ok := segment.(*codes[T])
		switch {
		case !ok || c == nil:
			return fmt.Errorf("quantise: segment %d is nil", i)
		case !q.equals(c.q):
			return fmt.Errorf("quantise: segment %d is of another quantiser", i)
		}
		s.add(c)
	}
	switch {
	case queries.Cols != q.in:
		return fmt.Errorf("quantise: queries are %d×%d, want m×%d", queries.Rows, queries.Cols, q.in)
	case o.Rows != nil && q.options.Scheme != RaBitQ:
		return fmt.Errorf("quantise: Rows with codes of %v, want RaBitQ, which knows the error of each code", q.options.Scheme)
	case queries.Rows == 0:
		return nil
	}
	s.ctx, s.options, s.split = ctx, o, q.splits(queries.Rows)
	for i := range hits {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.prepare(i, queries.Row(i), min(len(hits[i]), s.n))
	}
	if o.Rows != nil {
		return s.readExact(hits, queries)
	}
	s.run()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, x := range s.queries {
		hits[i] = x.write(s, hits[i])
	}
	return nil
}

// checkOptions checks the options of a search of a number of segments, and sets MissProbability.
func (q *quantiser[T]) checkOptions(o *SearchOptions[T], segments int) error {
	for i, sets := range [...][]Bitmap{o.Only, o.Except} {
		if sets != nil && len(sets) != segments {
			return fmt.Errorf("quantise: %s has %d sets for %d segments", [...]string{"Only", "Except"}[i], len(sets), segments)
		}
	}
	switch {
	case o.Rows == nil && o.MissProbability != 0:
		return fmt.Errorf("quantise: MissProbability = %v without Rows", o.MissProbability)
	case o.Centres < 0:
		return fmt.Errorf("quantise: Centres = %d, want at least 0", o.Centres)
	case !(o.MissProbability >= 0 && o.MissProbability < 1):
		return fmt.Errorf("quantise: MissProbability = %v, want a probability between 0 and 1", o.MissProbability)
	}
	if o.MissProbability == 0 {
		o.MissProbability = 0.01
	}
	return nil
}

// equals reports whether q and r encode every vector alike.
func (q *quantiser[T]) equals(r *quantiser[T]) bool {
	return q == r || q.drawn && r.drawn && q.seed == r.seed && q.options == r.options && q.in == r.in && q.out == r.out &&
		slices.EqualFunc(q.centres, r.centres, func(a, b centre[T]) bool { return slices.Equal(a.vector, b.vector) })
}

func (c *codes[T]) check(query []T, by Measure) {
	if len(query) != c.q.in {
		panic(fmt.Sprintf("quantise: query has %d elements, want %d", len(query), c.q.in))
	}
	c.checkMeasure(by)
}

func (c *codes[T]) checkMeasure(by Measure) {
	if !by.valid() {
		panic(errMeasure(by).Error())
	}
}

func errMeasure(by Measure) error {
	return fmt.Errorf("quantise: measure %d, want one of the constants", int(by))
}

// write writes the best rows of a query into dst, best first, and returns dst with their number.
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

// value returns the estimate of the measure for a row of the given norm from the estimate of the
// cosine. In this package conversions of products keep the compiler from fusing them with sums,
// because fused sums have other bits on other processors.
func (s *search[T]) value(x *query[T], norm, centreProduct, cosine float64) float64 {
	if x.exponent != 0 && s.by != Cosine {
		product := 0.0
		switch {
		case x.centre != nil:
			product = x.centredValue(InnerProduct, norm, centreProduct, cosine)
			norm = x.fullNorm(norm, centreProduct)
		case norm > 0:
			product = norm * x.norm * cosine
		}
		if s.by == InnerProduct {
			return math.Ldexp(product, x.exponent)
		}
		return x.withSquare(float64(norm*norm) - math.Ldexp(2*product, x.exponent))
	}
	if x.centre != nil {
		return x.centredValue(s.by, norm, centreProduct, cosine)
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

// estimate returns the estimate of the measure for a row, with its standard error.
func (s *search[T]) estimate(of *query[T], c code) Estimate {
	x, d := s.shiftedFor(of, c.cluster)
	cosine := s.product(c.words, x, d) * c.ratio
	e := Estimate{Value: s.value(x, c.norm, c.centreProduct, cosine)}
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
		if whole := x.fullNorm(c.norm, c.centreProduct) * of.norm; whole > 0 {
			e.StdErr *= c.norm * x.norm / whole
		} else {
			e.StdErr = 0
		}
	}
	return e
}

// deviation returns the root mean squared error of an estimate of a cosine, from codes with the
// moments m. It uses the estimate in place of the true cosine.
func (q *quantiser[T]) deviation(m codelaw.Moments, estimate float64) float64 {
	n := float64(len(q.rotations))
	across := max(0, m.Square-m.AlongSquare) / float64(q.out-1)
	rho := min(max(estimate/m.Along, -1), 1)
	// 1 − ρ² is uncertain by its standard error, so an estimate of 1 or more does not imply ρ = 1.
	square := float64(rho * rho)
	variance := float64(square*max(0, m.AlongSquare-float64(m.Along*m.Along))) + float64(max(1-square, across/n)*across)
	bias := rho * (m.Along - 1)
	return math.Sqrt(variance/n + float64(bias*bias))
}
