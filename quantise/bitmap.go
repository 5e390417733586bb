package quantise

import (
	"fmt"
	"math"
	"math/bits"
)

// Bitmap is a set of rows of codes: bit i%64 of word i/64 says whether row i is in it. Rows beyond
// the last word are not. make(Bitmap, (n+63)/64) is the empty set with room for n rows.
type Bitmap []uint64

// Has reports whether row id is in the set.
func (b Bitmap) Has(id int) bool { return id >= 0 && id/64 < len(b) && b[id/64]>>(id%64)&1 == 1 }

// Set puts row id into the set, or takes it out. It panics if the set has no word for it.
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

// mask has a bit for every row of a chunk that counts.
type mask struct {
	words [chunkRows / 64]uint64
	all   bool // of the chunk
}

// count marks which of n rows of a block count, and reports whether any counts.
func (s *search[T]) count(m *mask, segment int, b *block, lo, n int) bool {
	only, some := s.only(segment)
	except := s.except(segment)
	from := b.first + lo
	if b.ids != nil {
		return m.countIDs(b.ids[lo:lo+n], only, some, except)
	}
	count := 0
	for w := range m.words {
		word := ^uint64(0)
		if left := n - 64*w; left < 64 {
			word = 1<<max(left, 0) - 1
		}
		if some {
			word &= only.word(from + 64*w)
		}
		word &^= except.word(from + 64*w)
		m.words[w] = word
		count += bits.OnesCount64(word)
	}
	m.all = count == n
	return count > 0
}

// countIDs marks which of rows with these numbers count, and reports whether any counts.
func (m *mask) countIDs(ids []uint32, only Bitmap, some bool, except Bitmap) bool {
	clear(m.words[:])
	count := 0
	for i, id := range ids {
		if (!some || only.Has(int(id))) && !except.Has(int(id)) {
			m.words[i/64] |= 1 << (i % 64)
			count++
		}
	}
	m.all = count == len(ids)
	return count > 0
}

// hide makes NaN of the scores of rows that do not count.
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

// next returns the first row from i on that counts, or chunk.
func (m *mask) next(i int) int {
	for w := i / 64; w < len(m.words); w++ {
		if word := m.words[w] >> (i % 64); word != 0 {
			return i + bits.TrailingZeros64(word)
		}
		i = 64 * (w + 1)
	}
	return chunkRows
}
