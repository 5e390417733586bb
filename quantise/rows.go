package quantise

import (
	"fmt"
	"math"
	"sort"

	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// rows is an immutable list of rows. Append makes a new list, which shares the blocks of the old
// one.
type rows struct {
	n        int
	clusters []cluster           // one for each centre of the quantiser; one without centres
	labels   []*[labelled]uint32 // the clusters of rows, with centres
}

const labelled = 1 << 12

// cluster is the rows of one centre, in the order of their numbers. The last blocks may have room
// for more rows.
type cluster struct {
	n      int
	blocks []*codeBlock
}

type column int

const (
	norms column = iota // ‖x−c‖
	// ratio·sᵀp is the estimate of the cosine, where s consists of the levels of the quantiser
	ratios
	variances      // ‖s‖²/(sᵀu)² − 1
	centreProducts // g = (x−c)ᵀc
	codedProducts  // the estimate of g from the code
	columns
)

// codeBlock is contiguous memory of rows, which never moves. Append alone uses places beyond the
// published rows.
type codeBlock struct {
	first, size int                 // rows of the cluster before the block; places
	words       [mostParts][]uint64 // of each part of the rows
	numbers     [columns][]float32  // nil for the columns that the layout lacks
	ids         []uint32            // the row numbers, with centres
}

type layout struct {
	elements, width int            // the number of codes of a row, and the bits of a code
	words           int            // the words of a row of codes
	parts           [mostParts]int // the words of each part of a row
	count           int            // the number of parts, 1 without bands
	clusters        int            // one for each centre with the origin; one without centres
	has             [columns]bool
}

// mostParts is the largest number of parts of a row, one for each of the widths 8, 4, 2 and 1. The
// parts of rows are apart, because kernels are fastest for rows side by side.
const mostParts = 4

func (l layout) withParts(words ...int) layout {
	l.words, l.count = 0, copy(l.parts[:], words)
	for _, w := range words {
		l.words += w
	}
	return l
}

func (l layout) centred() bool { return l.clusters > 1 }

func (l layout) columns() (n int) {
	for _, has := range l.has {
		if has {
			n++
		}
	}
	return n
}

func (l layout) bytes() int {
	n := 8*l.words + 4*l.columns()
	if l.centred() {
		n += 8 // its number and its centre
	}
	return n
}

func (l layout) withClusters(n int) layout {
	l.clusters = n
	l.has[centreProducts], l.has[codedProducts] = true, true
	return l
}

func (l layout) check(n, more int) error {
	if more > math.MaxInt-n {
		return fmt.Errorf("quantise: %d rows after %d, more than an int counts", more, n)
	}
	n += more
	if err := limit.Memory[uint64](n, l.words+4); err != nil {
		return fmt.Errorf("quantise: %d rows of %d bytes: %w", n, l.bytes(), err)
	}
	if l.centred() && uint64(n) > math.MaxUint32 {
		return fmt.Errorf("quantise: %d rows with centres, want less than 2³²", n)
	}
	return nil
}

func newBlock(first, size int, l layout) *codeBlock {
	b := &codeBlock{first: first, size: size}
	for k, words := range l.parts[:l.count] {
		b.words[k] = make([]uint64, size*words)
	}
	for k, has := range l.has {
		if has {
			b.numbers[k] = make([]float32, size)
		}
	}
	if l.centred() {
		b.ids = make([]uint32, size)
	}
	return b
}

const slackBytes = 1 << 20

// with returns the cluster with room for more rows. A new block reserves room for a quarter of the
// rows of the cluster, so that repeated calls with few rows make few blocks.
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

// cut returns places [lo, hi) as a block, which begins at a place of the cluster.
func (b *codeBlock) cut(lo, hi, first int, l layout) *codeBlock {
	c := &codeBlock{first: first, size: hi - lo}
	for k, words := range l.parts[:l.count] {
		c.words[k] = b.words[k][lo*words : hi*words]
	}
	for k, v := range b.numbers {
		if v != nil {
			c.numbers[k] = v[lo:hi]
		}
	}
	if b.ids != nil {
		c.ids = b.ids[lo:hi]
	}
	return c
}

func (r cluster) find(i int) int {
	return sort.Search(len(r.blocks), func(k int) bool { return r.blocks[k].first > i }) - 1
}

func (r cluster) used(k int) int { return min(r.blocks[k].size, r.n-r.blocks[k].first) }

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

func (r *rows) label(i int) int {
	if r.labels == nil {
		return 0
	}
	return int(r.labels[i/labelled][i%labelled])
}

func (r *rows) with(more int, labels []uint32, l layout) *rows {
	next := &rows{n: r.n + more, clusters: make([]cluster, l.clusters)}
	copy(next.clusters, r.clusters)
	if labels == nil {
		next.clusters[0] = next.clusters[0].with(more, l)
		return next
	}
	counts := make([]int, l.clusters)
	for _, label := range labels {
		counts[label]++
	}
	for i, n := range counts {
		next.clusters[i] = next.clusters[i].with(n, l)
	}
	next.labels = r.labelled(labels)
	return next
}

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

func (r *rows) locate(id int) (b *codeBlock, place, cluster int) {
	cluster = r.label(id)
	l := &r.clusters[cluster]
	place = l.before(id)
	if b = l.blocks[0]; place >= b.size {
		b = l.blocks[l.find(place)]
	}
	return b, place - b.first, cluster
}

func (b *codeBlock) id(i int) int {
	if b.ids == nil {
		return b.first + i
	}
	return int(b.ids[i])
}

func (b *codeBlock) setRow(i int, row []uint64, l *layout) {
	for k, words := range l.parts[:l.count] {
		copy(b.words[k][i*words:][:words], row)
		row = row[words:]
	}
}

func (b *codeBlock) row(dst []uint64, i int, l *layout) []uint64 {
	for k, words := range l.parts[:l.count] {
		dst = append(dst, b.words[k][i*words:][:words]...)
	}
	return dst
}

func (b *codeBlock) copyRow(i int, other *codeBlock, from int, l layout) {
	for k, words := range l.parts[:l.count] {
		copy(b.words[k][i*words:][:words], other.words[k][from*words:])
	}
	for k, v := range b.numbers {
		if v != nil {
			v[i] = 0
			if other.numbers[k] != nil {
				v[i] = other.numbers[k][from]
			}
		}
	}
}

type room struct {
	next   *rows
	first  int // the number of the first new row
	labels []uint32
	places []int // the places of the new rows in their clusters, with centres
}

func (r *rows) room(n int, labels []uint32, l layout) *room {
	m := &room{next: r.with(n, labels, l), first: r.n, labels: labels}
	if labels != nil {
		m.places = make([]int, n)
		next := make([]int, l.clusters)
		for i, c := range r.clusters {
			next[i] = c.n
		}
		for i, label := range labels {
			m.places[i] = next[label]
			next[label]++
		}
	}
	return m
}

func (m *room) slot(i int) (b *codeBlock, at int) {
	c, place := &m.next.clusters[0], m.first+i
	if m.labels != nil {
		c, place = &m.next.clusters[m.labels[i]], m.places[i]
	}
	b = c.blocks[c.find(place)]
	at = place - b.first
	if b.ids != nil {
		b.ids[at] = uint32(m.first + i)
	}
	return b, at
}
