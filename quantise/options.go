package quantise

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
)

// SearchOptions selects the rows that the function Search looks at, and how it ranks them. The zero
// value ranks all rows by their estimates.
type SearchOptions[T dense.Float] struct {
	// Only has a set for each of the Codes, if it is not nil: other rows do not count. Except has sets
	// of rows that do not count, such as those that were deleted. Rows are taken 256 at a time, and
	// codes are not read where none of them counts. Nobody may change the sets during a search.
	Only, Except []Bitmap

	// Accept reports whether a row counts, if it is not nil. It is asked only about rows that would
	// be among the best so far, and may be asked twice. Goroutines call it at the same time.
	Accept func(segment, id int) bool

	// Rows writes the rows with these numbers of one of the Codes, as they were encoded, into dst
	// (len(ids)×d), if it is not nil. The numbers ascend. Search then returns exact values, with a
	// StdErr of 0. It calls Rows from one goroutine, for a few rows of one query at a time, and ends
	// with its error if that is not nil. The sum of len(ids) is the number of rows it looks at.
	Rows func(dst dense.Matrix[T], segment int, ids []int) error

	// Miss is the probability, over rotations, that Search with Rows leaves out a row that is among
	// the best: at most so many lists are not those of a search of the exact rows. Zero means 0.01.
	Miss float64

	// Centres is the number of centres of the quantiser whose rows a query looks at, those nearest to the
	// query by the measure: rows of all other centres do not count. Rows without a centre always do. 0
	// stands for all centres, and so does a number above that of the centres.
	Centres int
}

// RowsOf returns SearchOptions.Rows for rows that are in memory, a matrix for each of the Codes.
func RowsOf[T dense.Float](segments ...dense.Matrix[T]) func(dst dense.Matrix[T], segment int, ids []int) error {
	return func(dst dense.Matrix[T], segment int, ids []int) error {
		if segment >= len(segments) {
			return fmt.Errorf("quantise: rows of segment %d, of %d matrices", segment, len(segments))
		}
		x := segments[segment]
		if x.Cols != dst.Cols {
			return fmt.Errorf("quantise: segment %d has rows of %d elements, want %d", segment, x.Cols, dst.Cols)
		}
		for i, id := range ids {
			if id >= x.Rows {
				return fmt.Errorf("quantise: row %d of segment %d, which has %d rows in memory", id, segment, x.Rows)
			}
			copy(dst.Row(i), x.Row(id))
		}
		return nil
	}
}

// Search is the method Search for many queries, the rows of queries (m×d), and for several Codes of
// one quantiser, such as the segments of a store. hits has a list for each query: Search writes the
// best len(hits[i]) rows of all segments into hits[i], which it cuts off if fewer rows count. Of rows
// with equal values the one of the earlier segment comes first. Values are those of a search of one
// query.
//
// Cost: a rotation of each query, and one pass over the codes, in parallel: those of 256 rows stay in
// the cache while all queries take them, and products of bytes take several queries at a time ("Speed"
// in the package's documentation). Search allocates nothing once its memory has grown, except
// that Rows may.
//
// With Rows it takes two passes, and reads rows until the law of the errors of codes says that no other
// row is likely to be among the best: "Exact rows" in the package's documentation. Only RaBitQ has that
// law for each code; Search returns an error for other schemes.
//
// Search returns an error if the numbers of lists, columns or sets do not fit, if there is no such
// measure, if Centres is negative, if Miss is not within (0, 1) or set without Rows, if a segment is nil or zero, if the
// segments are not of one quantiser (or of equal ones that New made), or if a row of Rows is not
// finite; and the error of ctx if ctx ends before the search does. Lists hold anything then. Queries
// that are not finite are no errors: their values are NaN, of the first rows that count. It panics
// if ctx is nil.
func Search[T dense.Float](ctx context.Context, hits [][]Hit, queries dense.Matrix[T], by Measure, o SearchOptions[T], segments ...*Codes[T]) error {
	if ctx == nil {
		panic("quantise: ctx is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	queries.Check()
	if err := o.check(len(segments)); err != nil {
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
	for i, c := range segments {
		switch {
		case c == nil:
			return fmt.Errorf("quantise: segment %d is nil", i)
		case c.q == nil || c.q.rotations == nil:
			return fmt.Errorf("quantise: segment %d: %w", i, errZero)
		case !c.q.equals(segments[0].q):
			return fmt.Errorf("quantise: segment %d is of another quantiser than segment 0", i)
		}
	}
	q := segments[0].q
	switch {
	case queries.Cols != q.in:
		return fmt.Errorf("quantise: queries are %d×%d, want m×%d", queries.Rows, queries.Cols, q.in)
	case o.Rows != nil && q.options.Scheme != RaBitQ:
		return fmt.Errorf("quantise: Rows with codes of %v, want RaBitQ, which knows the error of each code", q.options.Scheme)
	case queries.Rows == 0:
		return nil
	}
	s := q.begin(by)
	defer s.end()
	s.ctx, s.options, s.split = ctx, o, q.splits(queries.Rows)
	for _, c := range segments {
		s.add(c)
	}
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

func (o *SearchOptions[T]) check(segments int) error {
	for i, sets := range [...][]Bitmap{o.Only, o.Except} {
		if sets != nil && len(sets) != segments {
			return fmt.Errorf("quantise: %s has %d sets for %d segments", [...]string{"Only", "Except"}[i], len(sets), segments)
		}
	}
	switch {
	case o.Rows == nil && o.Miss != 0:
		return fmt.Errorf("quantise: Miss = %v without Rows", o.Miss)
	case o.Centres < 0:
		return fmt.Errorf("quantise: Centres = %d, want at least 0", o.Centres)
	case !(o.Miss >= 0 && o.Miss < 1):
		return fmt.Errorf("quantise: Miss = %v, want a probability between 0 and 1", o.Miss)
	}
	if o.Miss == 0 {
		o.Miss = 0.01
	}
	return nil
}

// equals reports whether two quantisers make the same codes.
func (q *Quantiser[T]) equals(r *Quantiser[T]) bool {
	return q == r || q.drawn && r.drawn && q.seed == r.seed && q.options == r.options && q.in == r.in && q.out == r.out &&
		slices.EqualFunc(q.centres, r.centres, func(a, b centre[T]) bool { return slices.Equal(a.vector, b.vector) })
}

// only reports whether there are sets of the rows that count, and returns that of a segment.
func (s *search[T]) only(segment int) (only Bitmap, some bool) {
	if s.options.Only == nil {
		return nil, false
	}
	return s.options.Only[segment], true
}

func (s *search[T]) except(segment int) Bitmap {
	if s.options.Except == nil {
		return nil
	}
	return s.options.Except[segment]
}

func (s *search[T]) accepts(segment, id int) bool {
	return s.options.Accept == nil || s.options.Accept(segment, id)
}

// first writes the first rows that count into dst and returns their number.
func (s *search[T]) first(dst []Hit) int {
	n := 0
	for i := range s.segments {
		only, some := s.only(i)
		except := s.except(i)
		for id := 0; id < s.segments[i].rows.n && n < len(dst); id++ {
			if (!some || only.Has(id)) && !except.Has(id) && s.accepts(i, id) {
				dst[n] = Hit{Segment: i, ID: id}
				n++
			}
		}
	}
	return n
}
