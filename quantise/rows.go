package quantise

import (
	"sort"
	"sync"
	"sync/atomic"
)

// rows are the codes that there were at one time. They never change: an Append makes other rows,
// which share the blocks.
type rows struct {
	n      int
	blocks []*block // the last may have room for more rows
}

// block is memory for rows side by side. It never moves. Places for rows beyond those of all rows
// that are published belong to the goroutine that appends.
type block struct {
	first, size int // number of the first row, and places
	words       []uint64
	norms       []float32
	// ratios times sᵀu, with the levels of the quantiser for s, are estimates of cosines. nil means
	// 1 for all.
	ratios []float32

	once   sync.Once
	across []atomic.Uint32 // float32 bits for each chunk, 0 if not known yet
}

// code is the code of one row.
type code struct {
	words       []uint64
	norm, ratio float64
}

func newBlock(first, size, words int, ratios bool) *block {
	b := &block{first: first, size: size, words: make([]uint64, size*words), norms: make([]float32, size)}
	if ratios {
		b.ratios = make([]float32, size)
	}
	return b
}

// slackBytes is the most that codes of rows that have not come yet take.
const slackBytes = 1 << 20

// with returns the blocks of r with room for so many rows more. A new block has a quarter of the
// rows there are in advance, so that few rows at a time do not make many blocks.
func (r *rows) with(more, words int, ratios bool) []*block {
	left := more
	if len(r.blocks) > 0 {
		last := r.blocks[len(r.blocks)-1]
		left -= last.first + last.size - r.n
	}
	if left <= 0 {
		return r.blocks
	}
	size := max(left, min(r.n/4, slackBytes/(8*words)))
	return append(r.blocks, newBlock(r.n+more-left, size, words, ratios))
}

// find returns the index of the block of row i.
func find(blocks []*block, i int) int {
	return sort.Search(len(blocks), func(k int) bool { return blocks[k].first > i }) - 1
}

// code returns the code of row i.
func (r *rows) code(i, words int) code {
	b := r.blocks[find(r.blocks, i)]
	return b.code(i-b.first, words)
}

// code returns the code in place i.
func (b *block) code(i, words int) code {
	return code{b.words[i*words:][:words], float64(b.norms[i]), b.ratio(i)}
}

func (b *block) ratio(i int) float64 {
	if b.ratios == nil {
		return 1
	}
	return float64(b.ratios[i])
}

// each calls f with every range of places [lo, hi) of rows [from, to), in their order.
func (r *rows) each(from, to int, f func(b *block, lo, hi int)) {
	for k := find(r.blocks, from); from < to; k++ {
		b := r.blocks[k]
		end := min(to, b.first+b.size)
		f(b, from-b.first, end-b.first)
		from = end
	}
}
