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
	Only, Except []Set

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

// Set is a set of rows of codes, such as a Bitmap or a compressed bitmap of another library. Words
// writes the rows from 64·from on as bits: row 64·(from+i) + j is in the set if bit j of dst[i] is 1.
// Search calls Words from several goroutines, for 5 words at a time, and never copies a set.
type Set interface{ Words(dst []uint64, from int) }

// Bitmap is a Set in memory: row i is in the set if bit i%64 of word i/64 is 1. Rows beyond
// the last word are not in the set. make(Bitmap, (n+63)/64) returns the empty set for n rows.
type Bitmap []uint64

// Words is the method of Set.
func (b Bitmap) Words(dst []uint64, from int) {
	n := 0
	if from >= 0 && from < len(b) {
		n = copy(dst, b[from:])
	}
	clear(dst[n:])
}

// Has reports whether row id is in the set.
func (b Bitmap) Has(id int) bool { return id >= 0 && id/64 < len(b) && b[id/64]>>(id%64)&1 == 1 }

// Set adds row id to the set, or removes the row. Set panics if the set has no word for the row.
func (b Bitmap) Set(id int, in bool) {
	if id < 0 || id/64 >= len(b) {
		panic(fmt.Sprintf("quantise: row %d in a Bitmap of %d words of 64 rows", id, len(b)))
	}
	if b[id/64] &^= 1 << (id % 64); in {
		b[id/64] |= 1 << (id % 64)
	}
}
