package quantise

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
)

// SearchOptions selects the rows that Search of a Quantiser looks at, and how it ranks them. The zero
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

	// MissProbability is the probability, over rotations, that Search with Rows leaves out a row that is among
	// the best: at most so many lists are not those of a search of the exact rows. Zero means 0.01.
	MissProbability float64

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
