package clusters

import (
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	segmentKeys = 512 // keys of a segment of causal attention, a multiple of tiles.Keys and coded.OpenQueries
	mostQueries = 512 // queries of a part, whose weights of clusters stay in the second cache
	mostParts   = 4   // parts of a block, whose scored keys of a cluster are one product
	fewBlocks   = 8   // blocks that are enough work for all processors
)

// call is one call of Forward or ForwardPrefixes. Causal attention has a segment for each
// segmentKeys keys that are followed by a key. A query sees the keys of complete segments before
// its place by cluster, and the keys of its own segment one by one. Attention without a mask has
// one segment with all keys.
type call[T dense.Float] struct {
	a            *attention[T]
	dst, q, k, v dense.Matrix[T]
	causal       bool
	prefixes     []int // of causal attention; nil means i+1

	segments []segment[T]
	closed   []*segment[T]
	open     []coded.Open[T] // of each segment with queries
	runs     []run
	together int // runs of a block
}

// run is a run of queries of the same segment.
type run struct{ from, to, segment int }

var calls pool.Pair[call[float32], call[float64]]

// attend computes the outputs.
func (a *attention[T]) attend(dst, q, k, v dense.Matrix[T], causal bool, prefixes []int) {
	c := pool.Get[call[T]](&calls)
	c.a, c.dst, c.q, c.k, c.v, c.causal, c.prefixes = a, dst, q, k, v, causal, prefixes
	c.divide()
	parallel.Do(max(len(c.closed), len(c.open)), (*buildTask[T])(c))
	c.together = min(max(len(c.runs)/fewBlocks, 1), mostParts)
	parallel.Do((len(c.runs)+c.together-1)/c.together, c)
	c.a, c.prefixes = nil, nil
	for _, m := range []*dense.Matrix[T]{&c.dst, &c.q, &c.k, &c.v} {
		*m = dense.Matrix[T]{}
	}
	pool.Put(&calls, c)
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
	segments, open, at := 1, 0, 0
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
			open = segments + 1
			end = at + sort.Search(c.q.Rows-at, func(i int) bool { return c.sees(at+i) > open*segmentKeys })
		}
		for ; at < end; at = min(at+mostQueries, end) {
			c.runs = append(c.runs, run{at, min(at+mostQueries, end), segments})
		}
	}
	for len(c.segments) < segments {
		c.segments = append(c.segments, segment[T]{})
	}
	for len(c.open) < open {
		c.open = append(c.open, coded.Open[T]{})
	}
	c.open = c.open[:open]
	c.closed = c.closed[:0]
	for i := range segments {
		c.closed = append(c.closed, &c.segments[i])
	}
}

// ownKeys returns keys and values of segment i of causal attention.
func (c *call[T]) ownKeys(i int) (k, v dense.Matrix[T]) {
	lo, hi := i*segmentKeys, min((i+1)*segmentKeys, c.k.Rows)
	return c.k.RowRange(lo, hi), c.v.RowRange(lo, hi)
}

// buildTask builds segments, and the codes of the keys of queries' own segments.
type buildTask[T dense.Float] call[T]

func (t *buildTask[T]) Piece(i int) {
	c := (*call[T])(t)
	k, v := c.k, c.v
	if c.causal {
		k, v = c.ownKeys(i)
	}
	if i < len(c.closed) {
		c.closed[i].build(c.a, k, v)
	}
	if i < len(c.open) && c.a.codes(k.Cols) {
		c.open[i].Reset(segmentKeys, k.Cols, v.Cols)
		c.open[i].Encode(k, v)
	}
}

// Piece computes the outputs of a block of runs. The last blocks take the longest, and come first.
func (c *call[T]) Piece(i int) {
	blocks := (len(c.runs) + c.together - 1) / c.together
	i = blocks - 1 - i
	runs := c.runs[i*c.together : min((i+1)*c.together, len(c.runs))]
	lo, hi := runs[0].from, runs[len(runs)-1].to
	q, dst := c.q.RowRange(lo, hi), c.dst.RowRange(lo, hi)
	b := pool.Get[accumulator[T]](&accumulators)
	b.begin(hi-lo, q.Cols, c.v.Cols, c.a.scale(q.Cols), c.a.threshold)
	segments := c.closed
	if c.causal {
		segments = segments[:runs[len(runs)-1].segment]
	}
	b.encode(c.a, q, len(segments) > 0)
	for _, r := range runs {
		seen := segments
		if c.causal {
			c.addOwn(b, r, q, lo)
			seen = segments[:r.segment]
		}
		b.addPart(seen, q, r.from-lo, r.to-lo)
	}
	b.addScored(segments, q)
	if bad := b.finish(dst); len(bad) > 0 {
		c.exactly(bad, lo)
	}
	pool.Put(&accumulators, b)
}

// addOwn adds the keys of their own segment to the sums of the queries of a run, in blocks of
// places.
func (c *call[T]) addOwn(b *accumulator[T], r run, q dense.Matrix[T], lo int) {
	k, v := c.ownKeys(r.segment)
	first := r.segment * segmentKeys
	for from := r.from; from < r.to; {
		end := (c.sees(from)-1)/coded.OpenQueries*coded.OpenQueries + coded.OpenQueries
		b.places = b.places[:0]
		for i := from; i < r.to && c.sees(i) <= end && i-from < mostQueries/2; i++ {
			b.places = append(b.places, c.sees(i)-1-first)
		}
		at, to := from-lo, from-lo+len(b.places)
		c.open[r.segment].Sums(b.sums.Rows(len(b.peaks)).RowRange(at, to), b.peaks[at:to], q.RowRange(at, to), k, v, b.places, tiles.Scores{Scale: b.scale}, c.a.codes(q.Cols))
		from += len(b.places)
	}
}

// exactly computes the outputs of the listed queries from query lo on by exact attention.
func (c *call[T]) exactly(list []int32, lo int) {
	e := pool.Get[exactScratch[T]](&exactScratches)
	e.places = e.places[:0]
	if c.causal {
		for _, i := range list {
			e.places = append(e.places, c.sees(lo+int(i))-1)
		}
	}
	e.attend(c.dst.RowRange(lo, c.dst.Rows), c.q.RowRange(lo, c.q.Rows), c.k, c.v, list, c.a.scale(c.q.Cols))
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
