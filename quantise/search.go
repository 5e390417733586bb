package quantise

import (
	"context"
	"fmt"
)

func (c *codes[T]) Search(dst []Hit, query *Query) []Hit {
	c.q.check(query)
	s := c.q.begin(query.by)
	s.addSegment(c)
	s.addQuery(query, len(dst))
	s.find()
	dst = s.write(s.queries[0], dst)
	s.end()
	return dst
}

func (q *quantiser[T]) Search(ctx context.Context, hits [][]Hit, queries []*Query, o SearchOptions[T], segments ...Codes[T]) error {
	if ctx == nil {
		panic("quantise: ctx is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := q.checkOptions(&o, len(segments)); err != nil {
		return err
	}
	if len(hits) != len(queries) {
		return fmt.Errorf("quantise: %d lists of hits for %d queries", len(hits), len(queries))
	}
	for i, query := range queries {
		switch {
		case !q.prepared(query):
			return fmt.Errorf("quantise: query %d is not prepared by the quantiser", i)
		case query.by != queries[0].by:
			return fmt.Errorf("quantise: query %d has measure %d, want %d like the first", i, query.by, queries[0].by)
		}
	}
	if len(segments) == 0 {
		for i := range hits {
			hits[i] = hits[i][:0]
		}
	}
	if len(segments) == 0 || len(queries) == 0 {
		return nil
	}
	s := q.begin(queries[0].by)
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
	if o.Rows != nil && q.options.Scheme != RaBitQ {
		return fmt.Errorf("quantise: Rows with codes of %v, want RaBitQ, which knows the error of each code", q.options.Scheme)
	}
	s.ctx, s.options = ctx, o
	for i, query := range queries {
		s.addQuery(query, min(len(hits[i]), s.n))
	}
	if o.Rows != nil {
		return s.readExact(hits)
	}
	s.find()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, x := range s.queries {
		hits[i] = s.write(x, hits[i])
	}
	return nil
}

// checkOptions checks the options of a search of a number of segments, and sets MissProbability.
func (q *quantiser[T]) checkOptions(o *SearchOptions[T], segments int) error {
	for i, sets := range [...][]Set{o.Only, o.Except} {
		if sets != nil && len(sets) != segments {
			return fmt.Errorf("quantise: %s has %d sets for %d segments", [...]string{"Only", "Except"}[i], len(sets), segments)
		}
		for k, set := range sets {
			if set == nil {
				return fmt.Errorf("quantise: set %d of %s is nil", k, [...]string{"Only", "Except"}[i])
			}
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

// prepared reports whether q or an equal quantiser has prepared a query.
func (q *quantiser[T]) prepared(query *Query) bool {
	if query == nil {
		return false
	}
	owner, ok := query.owner.(*quantiser[T])
	return ok && q.equals(owner)
}

// check panics unless q has prepared the query.
func (q *quantiser[T]) check(query *Query) {
	if !q.prepared(query) {
		panic("quantise: the query is not prepared by the quantiser of the codes")
	}
}

// write writes the best rows of a query into dst, best first, and returns dst with their number.
func (s *search[T]) write(x *ranking, dst []Hit) []Hit {
	if x.norm != x.norm {
		dst = dst[:s.first(dst)]
		for i := range dst {
			dst[i].Estimate = Estimate{Value: x.norm, StdErr: x.norm}
		}
		return dst
	}
	x.best = cut(x.best, x.k)
	dst = dst[:len(x.best)]
	order, keys := ordered(s.keys, x.best)
	s.keys = keys
	f := batches.Get()
	defer batches.Put(f)
	var estimates [fewRows]Estimate
	for from := 0; from < len(dst); from += fewRows {
		some := dst[from:min(from+fewRows, len(dst))]
		for i := range some {
			c := x.best[uint32(order[from+i])]
			segment, id := s.locate(c.row)
			some[i].Segment, some[i].ID = segment, id
			s.segments[segment].addRow(f, i, id, s.q.words)
			f.products[i] = c.product
		}
		s.q.estimateProducts(estimates[:len(some)], x.Query, f)
		for i := range some {
			some[i].Estimate = estimates[i]
		}
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
