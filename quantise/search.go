package quantise

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

func (c *codes[T]) Search(dst []Hit, query []T, by Measure) []Hit {
	c.check(query, by)
	s := c.q.begin(by)
	s.addSegment(c)
	s.prepare(query, len(dst))
	s.run()
	dst = s.queries[0].write(s, dst)
	s.end()
	return dst
}

func (c *codes[T]) Estimates(dst []float64, query []T, by Measure) []float64 {
	c.check(query, by)
	s := c.q.begin(by)
	s.addSegment(c)
	all := &s.segments[0]
	if dst == nil {
		dst = make([]float64, all.n)
	}
	if len(dst) > all.n {
		panic(fmt.Sprintf("quantise: dst has %d elements, want at most %d", len(dst), all.n))
	}
	all.n = len(dst)
	s.values = dst
	s.prepare(query, 0)
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
		s.addSegment(c)
	}
	switch {
	case queries.Cols != q.in:
		return fmt.Errorf("quantise: queries are %d×%d, want m×%d", queries.Rows, queries.Cols, q.in)
	case o.Rows != nil && q.options.Scheme != RaBitQ:
		return fmt.Errorf("quantise: Rows with codes of %v, want RaBitQ, which knows the error of each code", q.options.Scheme)
	case queries.Rows == 0:
		return nil
	}
	s.ctx, s.options = ctx, o
	for i := range hits {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.prepare(queries.Row(i), min(len(hits[i]), s.n))
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
		dst[i] = Hit{segment, id, s.estimate(x, s.segments[segment].code(id, s.q.words))}
	}
	sortHits(dst, s.by)
	return dst
}

// first writes the first rows that the options select into dst and returns their number.
func (s *search[T]) first(dst []Hit) int {
	n := 0
	for i := range s.segments {
		for id := 0; id < s.segments[i].n && n < len(dst); id++ {
			if s.selects(i, id) && s.accepts(i, id) {
				dst[n] = Hit{Segment: i, ID: id}
				n++
			}
		}
	}
	return n
}

// byCentre sorts candidates by centre, so that shiftedFor shifts the query once per centre.
func (s *search[T]) byCentre(some []candidate) {
	if s.q.centres == nil {
		return
	}
	slices.SortFunc(some, func(a, b candidate) int {
		i, k := s.locate(a.row)
		j, l := s.locate(b.row)
		return s.segments[i].label(k) - s.segments[j].label(l)
	})
}
