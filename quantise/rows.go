package quantise

import (
	"sort"
	"sync"
	"sync/atomic"
)

// rows are the codes that there were at one time. They never change: an Append makes other rows,
// which share the blocks.
type rows struct {
	n        int
	clusters []cluster // one, or one for each centre of the quantiser
	// labels say which cluster a row is in, if there are several.
	labels []*[labelled]uint32
}

// labelled is the number of rows whose labels lie side by side.
const labelled = 1 << 12

// cluster is rows that have one centre, in the order of their numbers.
type cluster struct {
	n      int
	blocks []*block // the last may have room for more rows
}

// block is memory for rows side by side. It never moves. Places for rows beyond those of all rows
// that are published belong to the goroutine that appends.
type block struct {
	first, size int // number of the first row in the cluster, and places
	words       []uint64
	norms       []float32 // of rows without their centre
	// ratios times sᵀu, with the levels of the quantiser for s, are estimates of cosines. nil means
	// 1 for all.
	ratios []float32

	once   sync.Once
	across []atomic.Uint32 // float32 bits for each chunk, 0 if not known yet

	// If there are centres c: (x−c)ᵀc, and the numbers of the rows among all. nil means 0, and numbers
	// are those in the cluster.
	alongs []float32
	ids    []uint32
}

// code is the code of one row.
type code struct {
	words              []uint64
	norm, ratio, along float64
	cluster            int
}

// layout is what a row consists of.
type layout struct {
	words           int
	ratios, centred bool
}

// bytes returns the number of bytes of a row.
func (l layout) bytes() int {
	n := 8*l.words + 4
	if l.ratios {
		n += 4
	}
	if l.centred {
		n += 12
	}
	return n
}

func newBlock(first, size int, l layout) *block {
	b := &block{first: first, size: size, words: make([]uint64, size*l.words), norms: make([]float32, size)}
	if l.ratios {
		b.ratios = make([]float32, size)
	}
	if l.centred {
		b.alongs, b.ids = make([]float32, size), make([]uint32, size)
	}
	return b
}

// slackBytes is the most that codes of rows that have not come yet take.
const slackBytes = 1 << 20

// with returns the cluster with so many rows more. A new block has a quarter of the rows there are in
// advance, so that few rows at a time do not make many blocks.
func (r cluster) with(more int, l layout) cluster {
	left := more
	if len(r.blocks) > 0 {
		last := r.blocks[len(r.blocks)-1]
		left -= last.first + last.size - r.n
	}
	if left > 0 {
		size := max(left, min(r.n/4, slackBytes/(8*l.words)))
		r.blocks = append(r.blocks, newBlock(r.n+more-left, size, l))
	}
	r.n += more
	return r
}

// closed returns the cluster without room for more rows.
func (r cluster) closed(words int) cluster {
	if len(r.blocks) == 0 {
		return r
	}
	at := len(r.blocks) - 1
	if last := r.blocks[at]; last.size != r.n-last.first {
		r.blocks = append(r.blocks[:at:at], last.cut(0, r.n-last.first, words))
	}
	return r
}

// cut returns places [lo, hi) as a block.
func (b *block) cut(lo, hi, words int) *block {
	c := &block{first: b.first + lo, size: hi - lo, words: b.words[lo*words : hi*words], norms: b.norms[lo:hi]}
	if b.ratios != nil {
		c.ratios = b.ratios[lo:hi]
	}
	if b.ids != nil {
		c.alongs, c.ids = b.alongs[lo:hi], b.ids[lo:hi]
	}
	return c
}

// find returns the index of the block of row i of the cluster.
func (r cluster) find(i int) int {
	return sort.Search(len(r.blocks), func(k int) bool { return r.blocks[k].first > i }) - 1
}

// used returns the number of rows of block k.
func (r cluster) used(k int) int { return min(r.blocks[k].size, r.n-r.blocks[k].first) }

// before returns the number of rows of the cluster whose numbers are below id.
func (r cluster) before(id int) int {
	if len(r.blocks) == 0 || r.blocks[0].ids == nil {
		return min(id, r.n)
	}
	k := sort.Search(len(r.blocks), func(k int) bool { return int(r.blocks[k].ids[0]) >= id }) - 1
	if k < 0 {
		return 0
	}
	b := r.blocks[k]
	return b.first + sort.Search(r.used(k), func(i int) bool { return int(b.ids[i]) >= id })
}

// each calls f with every range of places [lo, hi) of rows [from, to) of the cluster, in their order.
func (r cluster) each(from, to int, f func(b *block, lo, hi int)) {
	for k := r.find(from); from < to; k++ {
		b := r.blocks[k]
		end := min(to, b.first+b.size)
		f(b, from-b.first, end-b.first)
		from = end
	}
}

// label returns the cluster of row i.
func (r *rows) label(i int) int {
	if r.labels == nil {
		return 0
	}
	return int(r.labels[i/labelled][i%labelled])
}

// with returns r with room for more rows, and with their labels, if there are several clusters.
func (r *rows) with(more int, labels []uint32, l layout, clusters int) *rows {
	next := &rows{n: r.n + more, clusters: make([]cluster, clusters)}
	copy(next.clusters, r.clusters)
	if labels == nil {
		next.clusters[0] = next.clusters[0].with(more, l)
		return next
	}
	counts := make([]int, clusters)
	for _, label := range labels {
		counts[label]++
	}
	for i, n := range counts {
		next.clusters[i] = next.clusters[i].with(n, l)
	}
	next.labels = r.labelled(labels)
	return next
}

// places returns where in their clusters rows with the given labels come, after those of r.
func (r *rows) places(labels []uint32, clusters int) []int {
	places, next := make([]int, len(labels)), make([]int, clusters)
	for i, l := range r.clusters {
		next[i] = l.n
	}
	for i, label := range labels {
		places[i] = next[label]
		next[label]++
	}
	return places
}

// labelled returns the labels of r with those of more rows.
func (r *rows) labelled(more []uint32) []*[labelled]uint32 {
	labels, at := r.labels, r.n
	for len(more) > 0 {
		if at/labelled == len(labels) {
			labels = append(labels, new([labelled]uint32))
		}
		n := copy(labels[at/labelled][at%labelled:], more)
		more = more[n:]
		at += n
	}
	return labels
}

// code returns the code of row i.
func (r *rows) code(i, words int) code {
	at := r.label(i)
	l := r.clusters[at]
	place := l.before(i)
	b := l.blocks[l.find(place)]
	c := b.code(place-b.first, words)
	c.cluster = at
	return c
}

// code returns the code in place i.
func (b *block) code(i, words int) code {
	return code{words: b.words[i*words:][:words], norm: float64(b.norms[i]), ratio: b.ratio(i), along: b.along(i)}
}

func (b *block) ratio(i int) float64 {
	if b.ratios == nil {
		return 1
	}
	return float64(b.ratios[i])
}

func (b *block) along(i int) float64 {
	if b.alongs == nil {
		return 0
	}
	return float64(b.alongs[i])
}

// id returns the number of the row in place i.
func (b *block) id(i int) int {
	if b.ids == nil {
		return b.first + i
	}
	return int(b.ids[i])
}
