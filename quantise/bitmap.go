package quantise

import (
	"fmt"
	"math"
	"math/bits"
)

// Bitmap is a set of rows of codes: row i is in the set if bit i%64 of word i/64 is 1. Rows beyond
// the last word are not in the set. make(Bitmap, (n+63)/64) returns the empty set for n rows.
type Bitmap []uint64

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

// word returns bits [from, from+64).
func (b Bitmap) word(from int) uint64 {
	word, shift := from/64, from%64
	var low, high uint64
	if word < len(b) {
		low = b[word] >> shift
	}
	if shift > 0 && word+1 < len(b) {
		high = b[word+1] << (64 - shift)
	}
	return low | high
}

// mask marks the rows of a chunk that the options of a search select.
type mask struct {
	words [chunkRows / 64]uint64
	all   bool // all rows of the chunk are marked
}

// mark marks the selected ones of n rows from place lo of a block, and reports whether there are
// any.
func (s *search[T]) mark(m *mask, segment int, b *block, lo, n int) bool {
	only, except := s.options.Only, s.options.Except
	count := 0
	for w := range m.words {
		left := min(max(n-64*w, 0), 64)
		word, from := ^uint64(0)>>(64-left), lo+64*w
		switch {
		case only == nil && except == nil:
		case b.ids != nil:
			for i := range left {
				if !s.selects(segment, int(b.ids[from+i])) {
					word &^= 1 << i
				}
			}
		default:
			if only != nil {
				word &= only[segment].word(b.first + from)
			}
			if except != nil {
				word &^= except[segment].word(b.first + from)
			}
		}
		m.words[w] = word
		count += bits.OnesCount64(word)
	}
	m.all = count == n
	return count > 0
}

// hide replaces the scores of unmarked rows by NaN.
func (m *mask) hide(scores []float32) {
	for w, word := range m.words {
		for word = ^word; word != 0; word &= word - 1 {
			i := 64*w + bits.TrailingZeros64(word)
			if i >= len(scores) {
				return
			}
			scores[i] = float32(math.NaN())
		}
	}
}

// next returns the first marked row from i on, or chunkRows.
func (m *mask) next(i int) int {
	for w := i / 64; w < len(m.words); w++ {
		if word := m.words[w] >> (i % 64); word != 0 {
			return i + bits.TrailingZeros64(word)
		}
		i = 64 * (w + 1)
	}
	return chunkRows
}
