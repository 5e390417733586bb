package quantise

import (
	"context"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
)

// SearchOptions selects the rows that Codes.SearchAll and Codes.Within may return, and may have a
// function that reads original rows, so that both return exact values instead of estimates. With
// the zero SearchOptions, SearchAll ranks all rows by estimates.
type SearchOptions[T dense.Float] struct {
	// Only is a set of rows, and searches ignore rows outside of Only. Except is a set of rows that
	// searches ignore. Row i is in Only or Except if the slice has a word i/64 and bit i%64 of the
	// word is 1. A nil Only or Except excludes no rows, and neither may change during a search.
	// Searches read codes in groups of up to 256 rows, and skip a group if Only and Except exclude
	// all rows of the group.
	Only, Except []uint64

	// Accept reports whether a search may return the row with the number id. A nil Accept accepts
	// all rows. Searches call Accept only for rows that would enter the list of best rows, possibly
	// twice for a row, and from several goroutines.
	Accept func(id int) bool

	// Rows writes the original vectors of the rows with the numbers ids, which ascend, into dst,
	// which is len(ids)×d.
	//
	// If Rows is not nil, SearchAll returns exact values with a StdErr of 0, and, over random
	// rotations, lacks one or more of the best rows with at most the probability miss of
	// Quantiser.Prepare, or 0.01 if miss is 0.
	//
	// SearchAll calls Rows from one goroutine, for rows of one query at a time, and returns each
	// error of Rows.
	Rows func(dst dense.Matrix[T], ids []int) error

	// If Centres is above 0, SearchAll and Within return only rows whose centre is the origin or
	// one of so many centres of WithCentres nearest to the query by the Measure of the query.
	// Centres of 0, or above the number of centres of the quantiser, stands for all centres.
	Centres int
}

const exactMiss = 0.01

// RowsOf returns a function for SearchOptions.Rows that copies rows of the matrix x.
func RowsOf[T dense.Float](x dense.Matrix[T]) func(dst dense.Matrix[T], ids []int) error {
	return func(dst dense.Matrix[T], ids []int) error {
		if x.Cols != dst.Cols {
			return fmt.Errorf("quantise: rows of %d elements, want %d", x.Cols, dst.Cols)
		}
		for i, id := range ids {
			if id >= x.Rows {
				return fmt.Errorf("quantise: row %d of a matrix of %d rows", id, x.Rows)
			}
			copy(dst.Row(i), x.Row(id))
		}
		return nil
	}
}

func errCentres(n int) error {
	return fmt.Errorf("quantise: Centres = %d, want at least 0", n)
}

func (c *codes[T]) Search(dst []Hit, query *Query) []Hit {
	c.q.check(query)
	s := c.q.begin(c.rows(), query.by)
	s.addQuery(query, len(dst))
	s.run()
	dst = s.write(s.queries[0], dst)
	s.end()
	return dst
}

func (c *codes[T]) SearchAll(ctx context.Context, hits [][]Hit, queries []*Query, o SearchOptions[T]) error {
	if err := argument.Context("quantise", ctx); err != nil {
		return err
	}
	q := c.q
	switch {
	case o.Centres < 0:
		return errCentres(o.Centres)
	case len(hits) != len(queries):
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
	if len(queries) == 0 {
		return nil
	}
	s := q.begin(c.rows(), queries[0].by)
	defer s.end()
	s.ctx, s.options = ctx, o
	for i, query := range queries {
		s.addQuery(query, min(len(hits[i]), s.rows.n))
	}
	if o.Rows != nil {
		return s.readExact(hits)
	}
	s.run()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, x := range s.queries {
		hits[i] = s.write(x, hits[i])
	}
	return nil
}

func (q *quantiser[T]) prepared(query *Query) bool {
	if query == nil {
		return false
	}
	owner, ok := query.owner.(*quantiser[T])
	return ok && q.equals(owner)
}

func (q *quantiser[T]) check(query *Query) {
	if !q.prepared(query) {
		panic("quantise: the query is not prepared by the quantiser of the codes")
	}
}

func (s *search[T]) write(x *ranking, dst []Hit) []Hit {
	if x.norm != x.norm {
		return s.first(dst, x.norm)
	}
	x.best = cut(x.best, x.k)
	dst = dst[:len(x.best)]
	f := batches.Get()
	defer batches.Put(f)
	var estimates [fewRows]Estimate
	for from := 0; from < len(dst); from += fewRows {
		some := dst[from:min(from+fewRows, len(dst))]
		for i := range some {
			c := x.best[from+i]
			f.ids[i], f.products[i] = c.row, c.product
		}
		s.rows.addRows(f, f.ids[:len(some)], &s.q.layout)
		s.q.estimateProducts(estimates[:len(some)], x.Query, f)
		for i := range some {
			some[i] = Hit{f.ids[i], estimates[i]}
		}
	}
	sortHits(dst, s.by)
	return dst
}

func (s *search[T]) first(dst []Hit, nan float64) []Hit {
	n := 0
	for id := 0; id < s.rows.n && n < len(dst); id++ {
		if s.selects(id) && s.accepts(id) {
			dst[n] = Hit{id, Estimate{Value: nan, StdErr: nan}}
			n++
		}
	}
	return dst[:n]
}
