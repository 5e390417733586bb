package tiles

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// grain is the number of queries that is worth handing to another processor.
const grain = 64

// Queries returns how many of n queries go over the keys together. A larger number copies keys less
// often, and a smaller number gives work to more processors.
func Queries(n int) int { return min(max(n/32/grain, 1), 4) * grain }

// Attention is the attention of one head: the queries Q (Lq×d) over the keys K (Lk×d) and values V
// (Lk×dv), with the outputs Dst (Lq×dv).
type Attention[T dense.Float] struct {
	Dst, Q, K, V dense.Matrix[T]
	Scores       Scores
	Mask         Mask[T]

	rows int
}

// Attend computes the outputs. The output of a query that sees no key is zero. Bits do not depend
// on GOMAXPROCS.
func Attend[T dense.Float](a Attention[T]) {
	if a.Q.Rows == 0 || a.V.Cols == 0 {
		return
	}
	a.rows = Queries(a.Q.Rows)
	if a.Mask.Window > 0 {
		a.rows = grain // fewer keys that only some of the queries see
	}
	task := pool.Get[Attention[T]](&attentions)
	*task = a
	parallel.Do((a.Q.Rows+a.rows-1)/a.rows, task)
	*task = Attention[T]{}
	pool.Put(&attentions, task)
}

// Piece computes the outputs of a block of queries.
func (a *Attention[T]) Piece(i int) {
	lo := i * a.rows
	hi := min(lo+a.rows, a.Q.Rows)
	t := NewTile(a.Scores, a.Q.RowRange(lo, hi), a.V.Cols)
	t.AddSeen(a.K, a.V, a.Mask, lo)
	t.Finish(a.Dst.RowRange(lo, hi))
	t.Release()
}

var attentions pool.Both[Attention[float32], Attention[float64]]
