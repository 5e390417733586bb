package quantise

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// SearchOptions selects the rows that Quantiser.Search ranks, and how it ranks them. The zero value
// ranks all rows by their estimates.
type SearchOptions[T dense.Float] struct {
	// Only has a set of rows for each of the Codes; Search ignores other rows. Except has sets of
	// rows that Search ignores, such as deleted rows. A nil slice means no restriction. Search
	// skips the codes of 256 rows if it ignores all of them. The sets must not change during a
	// search.
	Only, Except []Bitmap

	// Accept reports whether Search may return a row. Nil accepts all rows. Search calls Accept
	// only for rows that would enter the list, possibly twice for a row, and from several
	// goroutines.
	Accept func(segment, id int) bool

	// Rows writes the original rows ids of one of the Codes into dst, which is len(ids)×d. The
	// numbers ascend. If Rows is not nil, Search returns exact values with a StdErr of 0. Search
	// calls Rows from one goroutine, for a few rows of one query at a time, and returns its error.
	Rows func(dst dense.Matrix[T], segment int, ids []int) error

	// MissProbability bounds the probability, over rotations, that Search with Rows misses one of
	// the best rows. Zero means 0.01.
	MissProbability float64

	// Centres is the number of centres whose rows Search ranks: the centres nearest to the query by
	// the measure. Search also ranks the rows whose centre is the origin. Zero, and a number above
	// the number of centres, mean all centres.
	Centres int
}

// RowsOf returns a function for SearchOptions.Rows that reads the rows of the Codes from matrices.
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

// selects reports whether Only and Except select a row.
func (s *search[T]) selects(segment, id int) bool {
	o := &s.options
	return (o.Only == nil || o.Only[segment].Has(id)) && (o.Except == nil || !o.Except[segment].Has(id))
}

// accepts reports whether Accept accepts a row.
func (s *search[T]) accepts(segment, id int) bool {
	return s.options.Accept == nil || s.options.Accept(segment, id)
}

// first writes the first rows that the options select into dst and returns their number.
func (s *search[T]) first(dst []Hit) int {
	n := 0
	for i := range s.segments {
		for id := 0; id < s.segments[i].rows.n && n < len(dst); id++ {
			if s.selects(i, id) && s.accepts(i, id) {
				dst[n] = Hit{Segment: i, ID: id}
				n++
			}
		}
	}
	return n
}
