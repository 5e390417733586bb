package clusters

import (
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	window    = 128        // queries of a block, whose keys and those of the block before have exact weights
	firstKeys = 8 * window // keys before clusters are worth their cost
	wave      = 32         // blocks whose moments are kept at a time
	groups    = 8          // tasks of a wave: the near keys of a group of blocks are scored together
)

// causal computes the outputs of queries that see the keys up to their own, block by block. The keys
// of its own block and of the block before are close to a block. All older keys are in clusters,
// which are found anew among all older keys each time their number has doubled, so that clusters
// know no later key.
//
// Query i sees seen[i] keys, or i+1 if seen is nil. It belongs to the block of the last key that it
// sees. More queries than a block has keys are in several blocks with the same keys.
func causal[T dense.Float](a *attention[T], dst, q, k, v dense.Matrix[T], seen []int) {
	c := pool.Get[past[T]](&pasts)
	c.a, c.k, c.v, c.dst, c.q, c.seen = a, k, v, dst, q, seen
	c.begin()
	for begin := firstKeys; begin < k.Rows; begin *= 2 {
		if end := min(2*begin, k.Rows); c.queries(begin) < c.queries(end) {
			c.epoch(begin, end)
		}
	}
	c.a, c.seen, c.sorted.centres = nil, nil, dense.Matrix[T]{}
	for _, m := range []*dense.Matrix[T]{&c.k, &c.v, &c.dst, &c.q} {
		*m = dense.Matrix[T]{}
	}
	pool.Put(&pasts, c)
}

var pasts pool.Pair[past[float32], past[float64]]

// past is what a call of causal attention knows of older keys. A piece is a group of blocks.
type past[T dense.Float] struct {
	a            *attention[T]
	dst, q, k, v dense.Matrix[T]
	seen         []int
	places       []int // of the first queries

	sorted  sorted[T]  // all keys of an epoch
	tallies []tally[T] // of the keys that are in clusters so far
	counts  []int
	last    int // number of blocks of the wave
	blocks  [wave]older[T]
}

// sees returns the number of keys that query i sees.
func (c *past[T]) sees(i int) int {
	if c.seen == nil {
		return i + 1
	}
	return c.seen[i]
}

// queries returns the number of queries that see at most n keys.
func (c *past[T]) queries(n int) int {
	if c.seen == nil {
		return n
	}
	return sort.SearchInts(c.seen, n+1)
}

// begin computes the outputs of the queries that see too few keys for clusters, by exact attention.
func (c *past[T]) begin() {
	keys := min(firstKeys, c.k.Rows)
	n := c.queries(keys)
	mask := tiles.Mask[T]{Causal: true}
	if c.seen != nil {
		c.places = scratch.Resize(c.places, n)
		for i := range n {
			c.places[i] = c.seen[i] - 1
		}
		mask.Places = c.places
	}
	tiles.Attend(tiles.Attention[T]{
		Dst: c.dst.RowRange(0, n), Q: c.q.RowRange(0, n), K: c.k.RowRange(0, keys), V: c.v.RowRange(0, keys),
		Scores: tiles.Scores{Scale: c.a.scale(c.q.Cols)}, Mask: mask,
	})
}

// older is what a block knows of the keys before the close ones, which are the first keys of each
// cluster.
type older[T dense.Float] struct {
	moments[T]
	from, to   int // queries
	first, end int // close keys
}

// epoch computes the outputs of the queries that see more than begin and at most end keys, with
// clusters of the first keys.
func (c *past[T]) epoch(begin, end int) {
	old := begin - window
	c.sorted.find(c.a, c.k.RowRange(0, old))
	c.sorted.sort(c.k.RowRange(0, end), c.v.RowRange(0, end))
	clusters := c.sorted.clusters()
	c.counts, c.tallies = scratch.Resize(c.counts, clusters), scratch.Resize(c.tallies, clusters)
	clear(c.counts)
	for l := range c.tallies {
		c.tallies[l].begin(c.k.Cols, c.v.Cols)
	}
	for ; old+window < end; old += window {
		last := min(old+2*window, end)
		to := c.queries(last)
		for from := c.queries(old + window); from < to; from += window {
			o := &c.blocks[c.last]
			o.shape(clusters, c.k.Cols, c.v.Cols)
			o.from, o.to, o.first, o.end = from, min(from+window, to), old, last
			if c.last++; c.last == wave {
				c.flush()
			}
		}
	}
	c.flush()
}

// flush computes the outputs of the blocks of the wave.
func (c *past[T]) flush() {
	parallel.Do(len(c.counts), (*growing[T])(c))
	parallel.Do(min(groups, c.last), c)
	c.last = 0
}

// growing is the task of setting the moments of the blocks of a wave. A piece is a cluster.
type growing[T dense.Float] past[T]

func (c *growing[T]) Piece(l int) {
	s, t, origin := &c.sorted, &c.tallies[l], c.sorted.centres.Row(l)
	order, keys, values := s.orderOf(l), s.keysOf(l), s.valuesOf(l)
	n, scale := c.counts[l], c.a.scale(c.k.Cols)
	for p := range c.blocks[:c.last] {
		o := &c.blocks[p]
		for ; n < len(order) && int(order[n]) < o.first; n++ {
			t.add(origin, keys.Row(n), values.Row(n))
		}
		o.set(l, n, origin, t, scale)
	}
	c.counts[l] = n
}

// Piece computes the outputs of a group of blocks.
func (c *past[T]) Piece(i int) {
	n := min(groups, c.last)
	b, o := getBlock[T](), c.blocks[parallel.Share(c.last, n, i):parallel.Share(c.last, n, i+1)]
	lo, hi := o[0].from, o[len(o)-1].to
	q, dst := c.q.RowRange(lo, hi), c.dst.RowRange(lo, hi)
	b.begin(hi-lo, q.Cols, c.v.Cols, c.a.scale(q.Cols), c.a.threshold)
	for p := range o {
		o[p].pack()
		first, end := o[p].first, o[p].end
		b.seen = b.seen[:0]
		for i := o[p].from; i < o[p].to; i++ {
			b.seen = append(b.seen, c.sees(i)-first)
		}
		b.recent(&o[p].moments, q, c.k.RowRange(first, end), c.v.RowRange(first, end), o[p].from-lo, o[p].to-lo)
	}
	for l := range c.counts {
		c.near(b, o, q, l)
	}
	b.finish(dst, func(i int) {
		end := c.sees(lo + i)
		c.a.exact.Forward(dst.RowRange(i, i+1), q.RowRange(i, i+1), c.k.RowRange(0, end), c.v.RowRange(0, end))
	})
	putBlock(b)
}

// near adds the keys of a cluster to the sums of a group of blocks. Later blocks see more keys.
func (c *past[T]) near(b *block[T], o []older[T], q dense.Matrix[T], l int) {
	list := b.queriesOf(l, 0, len(o))
	if len(list) == 0 {
		return
	}
	keys, values := c.sorted.keysOf(l), c.sorted.valuesOf(l)
	if !c.sorted.finite[l] {
		for p := range o { // a product with a weight of zero is NaN
			n := o[p].counts[l]
			b.near(b.listedIn(l, p), q, keys.RowRange(0, n), values.RowRange(0, n), nil)
		}
		return
	}
	b.seen = b.seen[:0]
	for p := range o {
		for range b.listedIn(l, p) {
			b.seen = append(b.seen, o[p].counts[l])
		}
	}
	n := o[len(o)-1].counts[l]
	b.near(list, q, keys.RowRange(0, n), values.RowRange(0, n), b.seen)
}

// recent begins with the queries lo ≤ i < hi: it adds the clusters as far does, and recent keys, of
// which they see as many as seen says.
//
// The shares of clusters that decide which keys are scored are shares of all clusters, without the
// recent keys. Where the scores of a cluster are not normal its sum is far too small, as other sums
// are; beside the weights of recent keys, which are exact, it would count for nothing.
func (b *block[T]) recent(m *moments[T], q, k, v dense.Matrix[T], lo, hi int) {
	n := hi - lo
	weights := b.scoreClusters(m, q, lo, hi)
	matmul.PackT(&b.packed, q.RowRange(lo, hi))
	b.scores.Shape(k.Rows, n)
	scores := b.scores.Rows(k.Rows)
	matmul.MulPacked(T(b.scale), k, &b.packed, 0, scores, nil)
	hide(scores, b.seen)
	vecmath.PeakRows(b.peaks[lo:hi], scores.Data, scores.Stride, scores.Rows)
	b.choose(m, weights, lo, hi, b.weigh(weights, lo, hi))
	b.weigh(scores, lo, hi)
	sums := b.sums.Rows(len(b.peaks)).RowRange(lo, hi)
	matmul.TMulPacked(1, weights, &m.packed, 1, sums, nil)
	b.ones.Shape(k.Rows, v.Cols+1)
	ones := b.ones.Rows(k.Rows)
	for j := range k.Rows {
		copy(ones.Row(j), v.Row(j))
		ones.Row(j)[v.Cols] = 1
	}
	if finiteRows(ones.RowRange(b.seen[0], k.Rows)) {
		matmul.TMul(1, scores, ones, 1, sums)
		return
	}
	for i, seen := range b.seen { // a product with a weight of zero is NaN
		matmul.TMul(1, scores.RowRange(0, seen).ColRange(i, i+1), ones.RowRange(0, seen), 1, sums.RowRange(i, i+1))
	}
}
