package clusters

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

const (
	mostQueries = 512 // queries of a part: weights of clusters stay in the second cache
	mostParts   = 8   // parts of a block, whose scored keys of a cluster are one product
	fewBlocks   = 8   // blocks that are enough work for all processors
)

// call is one call of Forward. A piece is a block of queries.
type call[T dense.Float] struct {
	a            *attention[T]
	dst, q, k, v dense.Matrix[T]
	sweep        *sweep[T] // of ForwardThresholds, or nil
	division     division[T]
	rows         int           // queries of a block
	keep         *gradients[T] // keeps what Backward needs of the blocks; nil in Forward
}

var calls pool.Pair[call[float32], call[float64]]

// attend computes the outputs, or those of w if w is not nil.
func (a *attention[T]) attend(dst, q, k, v dense.Matrix[T], w *sweep[T]) {
	c := pool.Get[call[T]](&calls)
	c.a, c.dst, c.q, c.k, c.v, c.sweep = a, dst, q, k, v, w
	c.prepare()
	parallel.Do(c.blocks(), c)
	c.release()
	pool.Put(&calls, c)
}

// prepare divides the queries and the keys.
func (c *call[T]) prepare() {
	parts := (c.q.Rows + mostQueries - 1) / mostQueries
	c.rows = mostQueries * min(max(parts/fewBlocks, 1), mostParts)
	c.division.build(c.a, c.k, c.v)
}

// release drops the arguments.
func (c *call[T]) release() {
	c.a, c.sweep, c.keep = nil, nil, nil
	for _, m := range []*dense.Matrix[T]{&c.dst, &c.q, &c.k, &c.v} {
		*m = dense.Matrix[T]{}
	}
}

// blocks returns the number of blocks of queries.
func (c *call[T]) blocks() int { return (c.q.Rows + c.rows - 1) / c.rows }

// Piece computes the outputs of block i of the queries.
func (c *call[T]) Piece(i int) {
	lo, hi := i*c.rows, min((i+1)*c.rows, c.q.Rows)
	q, dst := c.q.RowRange(lo, hi), c.dst.RowRange(lo, hi)
	b := pool.Get[accumulator[T]](&accumulators)
	b.begin(hi-lo, q.Cols, c.v.Cols, c.a.scale(q.Cols), T(c.a.Threshold))
	b.encode(c.a, q)
	for at := 0; at < q.Rows; at += mostQueries {
		b.addPart(&c.division, q, at, min(at+mostQueries, q.Rows))
	}
	if c.sweep != nil {
		c.sweepScored(b, q, lo)
	} else {
		b.addScored(&c.division, q)
		if bad := b.finish(dst); len(bad) > 0 {
			c.exactly(dst, bad, lo)
		}
		if c.keep != nil {
			c.keep.take(i, lo, b)
		}
	}
	pool.Put(&accumulators, b)
}

// exactly computes the outputs dst of the listed queries from query lo on by exact attention.
func (c *call[T]) exactly(dst dense.Matrix[T], list []int32, lo int) {
	const most = 256 // queries that read the keys together
	e := pool.Get[exactScratch[T]](&exactScratches)
	for at := 0; at < len(list); at += most {
		part := list[at:min(at+most, len(list))]
		e.rows.Shape(len(part), c.q.Cols)
		e.out.Shape(len(part), c.v.Cols)
		rows, out := e.rows.Rows(len(part)), e.out.Rows(len(part))
		for j, i := range part {
			copy(rows.Row(j), c.q.Row(lo+int(i)))
		}
		t := tiles.NewTile(tiles.Scores{Scale: c.a.scale(c.q.Cols)}, rows, c.v.Cols)
		t.Add(c.k, c.v)
		t.Finish(out)
		t.Release()
		for j, i := range part {
			copy(dst.Row(int(i)), out.Row(j))
		}
	}
	pool.Put(&exactScratches, e)
}

// exactScratch is the scratch memory of one goroutine for exact attention of some queries.
type exactScratch[T dense.Float] struct{ rows, out scratch.Buffer[T] }

var exactScratches pool.Pair[exactScratch[float32], exactScratch[float64]]
