package clusters

import (
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	segmentKeys = tiles.Keys // keys of a segment of causal attention
	ownQueries  = 64         // places whose queries score the keys of their own segment together
	mostQueries = 512        // queries of a part: weights of clusters stay in the second cache
	mostParts   = 8          // parts of a block, whose scored keys of a cluster are one product
	fewBlocks   = 8          // blocks that are enough work for all processors
)

// call is one call of Forward or ForwardPrefixes. Causal attention has a segment for each
// segmentKeys keys that are followed by a key. A query sees the keys of complete segments before
// its place by cluster, and the keys of its own segment one by one. Attention without a mask has
// one segment with all keys.
type call[T dense.Float] struct {
	a            *attention[T]
	dst, q, k, v dense.Matrix[T]
	causal       bool
	prefixes     []int     // of causal attention; nil means i+1
	sweep        *sweep[T] // of ForwardThresholds, or nil

	segments []segment[T]
	closed   int // complete segments
	index    index[T]
	runs     []run
	together int           // runs of a block
	keep     *gradients[T] // keeps what Backward needs of the blocks; nil in Forward
}

// run is a run of queries that see the same complete segments.
type run struct{ from, to, segments int }

var calls pool.Pair[call[float32], call[float64]]

// attend computes the outputs, or those of w if w is not nil.
func (a *attention[T]) attend(dst, q, k, v dense.Matrix[T], causal bool, prefixes []int, w *sweep[T]) {
	c := pool.Get[call[T]](&calls)
	c.a, c.dst, c.q, c.k, c.v, c.causal, c.prefixes, c.sweep = a, dst, q, k, v, causal, prefixes, w
	c.prepare()
	parallel.Do(c.blocks(), c)
	c.release()
	pool.Put(&calls, c)
}

// prepare divides the queries, and builds segments.
func (c *call[T]) prepare() {
	c.divide()
	first, _ := c.keysOf(0)
	if !c.a.codes(c.k.Cols) {
		first = first.RowRange(0, 0) // only codes have a centre
	}
	c.index.begin(first)
	parallel.Do(c.closed, (*buildTask[T])(c))
	for i := range c.closed {
		c.index.add(&c.segments[i])
	}
	c.together = min(max(len(c.runs)/fewBlocks, 1), mostParts)
}

// release drops the arguments.
func (c *call[T]) release() {
	c.a, c.prefixes, c.sweep, c.keep = nil, nil, nil, nil
	for _, m := range []*dense.Matrix[T]{&c.dst, &c.q, &c.k, &c.v} {
		*m = dense.Matrix[T]{}
	}
}

// blocks returns the number of blocks of queries, and block the runs of one of them.
func (c *call[T]) blocks() int { return (len(c.runs) + c.together - 1) / c.together }

func (c *call[T]) block(i int) []run {
	return c.runs[i*c.together : min((i+1)*c.together, len(c.runs))]
}

// sees returns the number of keys that query i of causal attention sees.
func (c *call[T]) sees(i int) int {
	if c.prefixes == nil {
		return i + 1
	}
	return c.prefixes[i]
}

// divide divides queries into runs, and makes room for segments.
func (c *call[T]) divide() {
	c.runs = c.runs[:0]
	segments, at := 1, 0
	if c.causal {
		for at < c.q.Rows && c.sees(at) == 0 {
			clear(c.dst.Row(at))
			at++
		}
		segments = 0
	}
	for at < c.q.Rows {
		end := c.q.Rows
		if c.causal {
			segments = (c.sees(at) - 1) / segmentKeys
			most := (segments + 1) * segmentKeys
			end = at + sort.Search(c.q.Rows-at, func(i int) bool { return c.sees(at+i) > most })
		}
		for ; at < end; at = min(at+mostQueries, end) {
			c.runs = append(c.runs, run{at, min(at+mostQueries, end), segments})
		}
	}
	for len(c.segments) < segments {
		c.segments = append(c.segments, segment[T]{})
	}
	c.closed = segments
}

// keysOf returns keys and values of segment i.
func (c *call[T]) keysOf(i int) (k, v dense.Matrix[T]) {
	if !c.causal {
		return c.k, c.v
	}
	lo, hi := min(i*segmentKeys, c.k.Rows), min((i+1)*segmentKeys, c.k.Rows)
	return c.k.RowRange(lo, hi), c.v.RowRange(lo, hi)
}

// buildTask builds segments.
type buildTask[T dense.Float] call[T]

func (t *buildTask[T]) Piece(i int) {
	c := (*call[T])(t)
	k, v := c.keysOf(i)
	c.segments[i].build(c.a, k, v, c.index.centre)
}

// Piece computes the outputs of a block of runs. The last blocks take the longest, and come first.
func (c *call[T]) Piece(i int) {
	i = c.blocks() - 1 - i
	runs := c.block(i)
	lo, hi := runs[0].from, runs[len(runs)-1].to
	q, dst := c.q.RowRange(lo, hi), c.dst.RowRange(lo, hi)
	b := pool.Get[accumulator[T]](&accumulators)
	b.begin(hi-lo, q.Cols, c.v.Cols, c.a.scale(q.Cols), T(c.a.Threshold))
	b.encode(c.a, q)
	for _, r := range runs {
		if c.causal {
			c.addOwn(b, r, q, lo)
		}
		b.addPart(&c.index, r.segments, q, r.from-lo, r.to-lo)
	}
	if segments := runs[len(runs)-1].segments; c.sweep != nil {
		c.sweepScored(b, segments, q, lo)
	} else {
		b.addScored(&c.index, segments, q)
		if bad := b.finish(dst); len(bad) > 0 {
			c.exactly(dst, bad, lo)
		}
		if c.keep != nil {
			c.keep.take(i, lo, b)
		}
	}
	pool.Put(&accumulators, b)
}

// addOwn adds the keys of their own segment to the sums of the queries of a run.
func (c *call[T]) addOwn(b *accumulator[T], r run, q dense.Matrix[T], lo int) {
	k, v := c.keysOf(r.segments)
	first := r.segments * segmentKeys
	for from := r.from; from < r.to; {
		end := (c.sees(from)-1)/ownQueries*ownQueries + ownQueries
		b.places = b.places[:0]
		for i := from; i < r.to && c.sees(i) <= end && i-from < mostQueries/2; i++ {
			b.places = append(b.places, c.sees(i)-1-first)
		}
		b.addOwn(q, k, v, from-lo)
		from += len(b.places)
	}
}

// exactly computes the outputs dst of the listed queries from query lo on by exact attention.
func (c *call[T]) exactly(dst dense.Matrix[T], list []int32, lo int) {
	e := pool.Get[exactScratch[T]](&exactScratches)
	e.places = e.places[:0]
	if c.causal {
		for _, i := range list {
			e.places = append(e.places, c.sees(lo+int(i))-1)
		}
	}
	e.attend(dst, c.q.RowRange(lo, c.q.Rows), c.k, c.v, list, c.a.scale(c.q.Cols))
	pool.Put(&exactScratches, e)
}

// exactScratch is the scratch memory of one goroutine for exact attention of some queries.
type exactScratch[T dense.Float] struct {
	places []int // of queries; empty if they see all keys
	rows   scratch.Buffer[T]
	out    scratch.Buffer[T]
}

var exactScratches pool.Pair[exactScratch[float32], exactScratch[float64]]

// attend computes the outputs of the listed queries.
func (e *exactScratch[T]) attend(dst, q, k, v dense.Matrix[T], list []int32, scale float64) {
	const most = 256 // queries that read the keys together
	for at := 0; at < len(list); at += most {
		part := list[at:min(at+most, len(list))]
		e.rows.Shape(len(part), q.Cols)
		e.out.Shape(len(part), v.Cols)
		rows, out := e.rows.Rows(len(part)), e.out.Rows(len(part))
		for j, i := range part {
			copy(rows.Row(j), q.Row(int(i)))
		}
		mask := tiles.Mask[T]{}
		if len(e.places) > 0 {
			mask = tiles.Mask[T]{Causal: true, Places: e.places[at:][:len(part)]}
		}
		t := tiles.NewTile(tiles.Scores{Scale: scale}, rows, v.Cols)
		t.AddSeen(k, v, mask, 0)
		t.Finish(out)
		t.Release()
		for j, i := range part {
			copy(dst.Row(int(i)), out.Row(j))
		}
	}
}
