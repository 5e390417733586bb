package tiles

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const grain = 64

// Queries returns how many of n queries read the keys together. A larger number copies keys less
// often, and a smaller number divides the queries among more processors.
func Queries(n int) int { return min(max(n/32/grain, 1), 4) * grain }

// Head has Q (Lq×d), K (Lk×d), V (Lk×dv) and outputs Dst (Lq×dv) of one head.
type Head[T dense.Float] struct {
	Dst, Q, K, V dense.Matrix[T]
	Scores       Scores
	Mask         Mask[T]
	// unless nil, set to the log of the sum of the weights of each query that sees a key
	LogSums []T
}

type tiledHead[T dense.Float] struct {
	Head[T]
	rows         int               // queries of a block
	keys, values scratch.Buffer[T] // copies of K and V
}

// Attend computes the outputs. The output of a query that sees no key is zero. Bits do not depend
// on GOMAXPROCS.
func Attend[T dense.Float](a Head[T]) {
	if a.Q.Rows == 0 || a.V.Cols == 0 && a.LogSums == nil {
		return
	}
	c := pool.Get[tiledHead[T]](&calls)
	c.Head, c.rows = a, Queries(a.Q.Rows)
	if a.Mask.Window > 0 {
		c.rows = grain // fewer keys that only some of the queries see
	} else if a.Q.Rows >= worthCopies*c.rows {
		c.K, c.V = together(&c.keys, a.K), together(&c.values, a.V)
	}
	parallel.Do((a.Q.Rows+c.rows-1)/c.rows, c)
	c.Head = Head[T]{}
	pool.Put(&calls, c)
}

// worthCopies is the least number of blocks of queries for which keys and values are copied to
// consecutive memory. The rows of one head among many are parts of longer rows: they share few sets
// of the caches and have a page each. Products with such rows take a fifth longer.
const worthCopies = 8

func together[T dense.Float](memory *scratch.Buffer[T], x dense.Matrix[T]) dense.Matrix[T] {
	if x.Stride <= scratch.Stride[T](x.Cols) {
		return x
	}
	memory.Shape(x.Rows, x.Cols)
	return dense.Copy(memory.Rows(x.Rows), x)
}

func (c *tiledHead[T]) Piece(i int) {
	lo := i * c.rows
	hi := min(lo+c.rows, c.Q.Rows)
	t := NewTile(c.Scores, c.Q.RowRange(lo, hi), c.V.Cols)
	t.AddSeen(c.K, c.V, c.Mask, lo)
	t.Finish(c.Dst.RowRange(lo, hi))
	if c.LogSums != nil {
		t.logSums(c.LogSums[lo:hi])
	}
	t.Release()
}

var calls pool.Pair[tiledHead[float32], tiledHead[float64]]
