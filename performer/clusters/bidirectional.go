package clusters

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// bidirectional computes the outputs of queries that see all keys.
func (a *attention[T]) bidirectional(dst, q, k, v dense.Matrix[T]) {
	c := pool.Get[call[T]](&calls)
	c.a, c.dst, c.q, c.k, c.v = a, dst, q, k, v
	c.index.build(a, k, v)
	c.block = partQueries * min((q.Rows+fewBlocks*partQueries-1)/(fewBlocks*partQueries), mostParts)
	parallel.Do((q.Rows+c.block-1)/c.block, c)
	c.a, c.dst, c.q, c.k, c.v = nil, dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}, dense.Matrix[T]{}
	pool.Put(&calls, c)
}

// call is one call of bidirectional attention. Its task i is block i of the queries.
type call[T dense.Float] struct {
	a            *attention[T]
	dst, q, k, v dense.Matrix[T]
	index        index[T]
	block        int // queries per block
}

var calls pool.Pair[call[float32], call[float64]]

const (
	partQueries = 512 // queries whose weights of clusters stay in the second cache
	mostParts   = 8   // the most parts of a block, whose scored keys of a cluster are one product
	fewBlocks   = 8   // blocks that are enough work for all processors
)

func (c *call[T]) Piece(i int) {
	lo, hi := i*c.block, min((i+1)*c.block, c.q.Rows)
	q, s := c.q.RowRange(lo, hi), &c.index
	b := pool.Get[accumulator[T]](&accumulators)
	b.begin(q.Rows, q.Cols, c.v.Cols, s.scale, c.a.threshold)
	if s.coded {
		b.keepShares = true
		b.coded.begin(s.codes.rotation, q)
	}
	for at := 0; at < q.Rows; at += partQueries {
		b.addClusters(&s.moments, q, at, min(at+partQueries, q.Rows))
	}
	for l := range s.clusters() {
		list := b.queriesOf(l)
		if s.coded && s.codes.has[l] {
			b.addCodedKeys(s, l, list)
		} else {
			b.addKeys(list, q, s.keysOf(l), s.valuesOf(l), nil)
		}
	}
	b.finish(c.dst.RowRange(lo, hi), func(i int) {
		c.a.exact.Forward(c.dst.RowRange(lo+i, lo+i+1), q.RowRange(i, i+1), c.k, c.v)
	})
	pool.Put(&accumulators, b)
}
