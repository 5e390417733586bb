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
	window     = 128        // keys of a block, which have exact weights with the keys of the previous block
	firstKeys  = 8 * window // keys from which on clusters are faster than exact attention
	mostBlocks = 32         // blocks whose moments are kept at a time
	groups     = 8          // groups of mostBlocks blocks; the blocks of a group score a cluster together
)

// causal computes the outputs of queries that see the first keys only, block by block. The keys of
// a block and of the previous block are recent. All older keys are in clusters. K-means divides all
// older keys again each time their number has doubled, so clusters do not depend on later keys.
//
// Query i sees prefixes[i] keys, or i+1 if prefixes is nil. Query i belongs to the block of the
// last key that the query sees. More than 128 queries of a block of keys become several blocks with
// the same keys.
func (a *attention[T]) causal(dst, q, k, v dense.Matrix[T], prefixes []int) {
	c := pool.Get[causalCall[T]](&causalCalls)
	c.a, c.k, c.v, c.dst, c.q, c.prefixes = a, k, v, dst, q, prefixes
	c.attendExactly()
	for begin := firstKeys; begin < k.Rows; begin *= 2 {
		if end := min(2*begin, k.Rows); c.queries(begin) < c.queries(end) {
			c.attend(begin, end)
		}
	}
	c.a, c.prefixes = nil, nil
	for _, m := range []*dense.Matrix[T]{&c.k, &c.v, &c.dst, &c.q} {
		*m = dense.Matrix[T]{}
	}
	pool.Put(&causalCalls, c)
}

var causalCalls pool.Pair[causalCall[float32], causalCall[float64]]

// causalCall is one call of causal.
type causalCall[T dense.Float] struct {
	a            *attention[T]
	dst, q, k, v dense.Matrix[T]
	prefixes     []int
	places       []int // positions of the queries with exact attention

	keys   partition[T] // all keys of a call of attend
	sums   []keySums[T] // of the older keys of each cluster
	counts []int        // the number of older keys of each cluster
	used   int          // number of used blocks
	blocks [mostBlocks]causalBlock[T]
}

// causalBlock is a block of queries. moments are the moments of the older keys, which are the first
// keys of each cluster.
type causalBlock[T dense.Float] struct {
	moments[T]
	from, to   int // queries
	first, end int // recent keys
}

// sees returns the number of keys that query i sees.
func (c *causalCall[T]) sees(i int) int {
	if c.prefixes == nil {
		return i + 1
	}
	return c.prefixes[i]
}

// queries returns the number of queries that see at most n keys.
func (c *causalCall[T]) queries(n int) int {
	if c.prefixes == nil {
		return n
	}
	return sort.SearchInts(c.prefixes, n+1)
}

// attendExactly computes the outputs of the queries that see at most firstKeys keys.
func (c *causalCall[T]) attendExactly() {
	keys := min(firstKeys, c.k.Rows)
	n := c.queries(keys)
	mask := tiles.Mask[T]{Causal: true}
	if c.prefixes != nil {
		c.places = scratch.Resize(c.places, n)
		for i := range n {
			c.places[i] = c.prefixes[i] - 1
		}
		mask.Places = c.places
	}
	tiles.Attend(tiles.Attention[T]{
		Dst: c.dst.RowRange(0, n), Q: c.q.RowRange(0, n), K: c.k.RowRange(0, keys), V: c.v.RowRange(0, keys),
		Scores: tiles.Scores{Scale: c.a.scale(c.q.Cols)}, Mask: mask,
	})
}

// attend computes the outputs of the queries that see more than begin and at most end keys, with
// clusters of the first begin − window keys.
func (c *causalCall[T]) attend(begin, end int) {
	older := begin - window
	c.keys.centres = c.a.findCentres(&c.keys.centreMemory, c.k.RowRange(0, older))
	c.keys.sort(c.k.RowRange(0, end), c.v.RowRange(0, end))
	clusters := c.keys.clusters()
	c.counts, c.sums = scratch.Resize(c.counts, clusters), scratch.Resize(c.sums, clusters)
	clear(c.counts)
	for l := range c.sums {
		c.sums[l].begin(c.k.Cols, c.v.Cols)
	}
	for ; older+window < end; older += window {
		last := min(older+2*window, end)
		to := c.queries(last)
		for from := c.queries(older + window); from < to; from += window {
			o := &c.blocks[c.used]
			o.shape(clusters, c.k.Cols, c.v.Cols)
			o.from, o.to, o.first, o.end = from, min(from+window, to), older, last
			if c.used++; c.used == mostBlocks {
				c.attendBlocks()
			}
		}
	}
	c.attendBlocks()
}

// attendBlocks computes the outputs of the blocks of queries that c has collected.
func (c *causalCall[T]) attendBlocks() {
	parallel.Do(len(c.counts), (*momentsTask[T])(c))
	parallel.Do(min(groups, c.used), c)
	c.used = 0
}

// momentsTask computes the moments of a cluster for every used block.
type momentsTask[T dense.Float] causalCall[T]

func (c *momentsTask[T]) Piece(l int) {
	s, t, centre := &c.keys, &c.sums[l], c.keys.centres.Row(l)
	order, keys, values := s.orderOf(l), s.keysOf(l), s.valuesOf(l)
	n, scale := c.counts[l], c.a.scale(c.k.Cols)
	for p := range c.blocks[:c.used] {
		o := &c.blocks[p]
		for ; n < len(order) && int(order[n]) < o.first; n++ {
			t.add(centre, keys.Row(n), values.Row(n))
		}
		o.set(l, n, centre, t, scale)
	}
	c.counts[l] = n
}

// Piece computes the outputs of a group of blocks.
func (c *causalCall[T]) Piece(i int) {
	n := min(groups, c.used)
	b, o := pool.Get[accumulator[T]](&accumulators), c.blocks[parallel.Share(c.used, n, i):parallel.Share(c.used, n, i+1)]
	lo, hi := o[0].from, o[len(o)-1].to
	q, dst := c.q.RowRange(lo, hi), c.dst.RowRange(lo, hi)
	b.begin(hi-lo, q.Cols, c.v.Cols, c.a.scale(q.Cols), c.a.threshold)
	for p := range o {
		matmul.Pack(&o[p].packed, o[p].means)
		first, end := o[p].first, o[p].end
		b.prefixes = b.prefixes[:0]
		for i := o[p].from; i < o[p].to; i++ {
			b.prefixes = append(b.prefixes, c.sees(i)-first)
		}
		b.addClustersAndRecent(&o[p].moments, q, c.k.RowRange(first, end), c.v.RowRange(first, end), o[p].from-lo, o[p].to-lo)
	}
	for l := range c.counts {
		c.addOlderKeys(b, o, q, l)
	}
	b.finish(dst, func(i int) {
		end := c.sees(lo + i)
		c.a.exact.Forward(dst.RowRange(i, i+1), q.RowRange(i, i+1), c.k.RowRange(0, end), c.v.RowRange(0, end))
	})
	pool.Put(&accumulators, b)
}

// addOlderKeys adds the older keys of cluster l for the queries of a group of blocks that score
// them. Later blocks have more older keys.
func (c *causalCall[T]) addOlderKeys(b *accumulator[T], o []causalBlock[T], q dense.Matrix[T], l int) {
	keys, values := c.keys.keysOf(l), c.keys.valuesOf(l)
	if !c.keys.finite[l] {
		for p := range o { // the product of a hidden NaN or Inf and a weight of zero is NaN
			n := o[p].counts[l]
			b.addKeys(b.queriesIn(l, p), q, keys.RowRange(0, n), values.RowRange(0, n), nil)
		}
		return
	}
	b.prefixes = b.prefixes[:0]
	for p := range o {
		for range b.queriesIn(l, p) {
			b.prefixes = append(b.prefixes, o[p].counts[l])
		}
	}
	n := o[len(o)-1].counts[l]
	b.addKeys(b.queriesOf(l), q, keys.RowRange(0, n), values.RowRange(0, n), b.prefixes)
}

// addClustersAndRecent begins the part of the queries lo ≤ i < hi with clusters, as addClusters
// does, and with recent keys k, of which query lo+i sees the first b.prefixes[i].
//
// The shares of clusters that choose decides by do not include the weights of recent keys. If the
// scores of a cluster are not normal, its weight w_ic is far too small, and so are the weights of
// other clusters. Compared with the exact weights of recent keys, these weights would seem
// negligible.
func (b *accumulator[T]) addClustersAndRecent(m *moments[T], q, k, v dense.Matrix[T], lo, hi int) {
	weights := b.scoreClusters(m, q, lo, hi)
	scores := b.scoreKeys(k, q.RowRange(lo, hi))
	hide(scores, b.prefixes)
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
	if finiteRows(ones.RowRange(b.prefixes[0], k.Rows)) {
		matmul.TMul(1, scores, ones, 1, sums)
		return
	}
	for i, prefixes := range b.prefixes { // the product of a hidden NaN or Inf and a weight of zero is NaN
		matmul.TMul(1, scores.RowRange(0, prefixes).ColRange(i, i+1), ones.RowRange(0, prefixes), 1, sums.RowRange(i, i+1))
	}
}
