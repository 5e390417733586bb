package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// StepAll adds n tokens to several streams: row i of the queries q (n×H·d), keys k (n×Hk·d) and
// values v (n×Hk·dv) is a token of states[i]. The rows of one State are adjacent and in the order
// of the tokens of its stream. StepAll computes the output of each of n tokens over all tokens of
// its stream up to the token itself into dst (n×H·dv), which StepAll returns; StepAll allocates a
// dst that is zero unless n = 0. The outputs of StepAll equal, bit for bit, those of [State.Step]
// called for each State by itself.
//
// The matrix dst may be q, k or v itself where shapes allow, or disjoint from all three. After a
// first call with as many rows, StepAll allocates nothing if dst is given, except memory for the
// tokens. Before any change StepAll panics if the number of states is not n, if the rows of a State
// are not adjacent, and if q, k and v do not fit a State.
func StepAll[T dense.Float](dst, q, k, v dense.Matrix[T], states []*State[T]) dense.Matrix[T] {
	if len(states) != q.Rows || k.Rows != q.Rows {
		panic(fmt.Sprintf("performer: %d states for %d queries and %d keys, want one for each row", len(states), q.Rows, k.Rows))
	}
	if q.Rows == 0 {
		return dst
	}
	c := pool.Get[stepCall[T]](&stepCalls)
	c.starts = c.starts[:0]
	for i, s := range states {
		if i > 0 && s == states[i-1] {
			continue
		}
		for _, from := range c.starts {
			if states[from] == s {
				panic(fmt.Sprintf("performer: rows %d and %d have the same State, want adjacent rows", from, i))
			}
		}
		c.starts = append(c.starts, i)
	}
	c.starts = append(c.starts, q.Rows)
	for i := range len(c.starts) - 1 {
		s, from, to := states[c.starts[i]], c.starts[i], c.starts[i+1]
		s.checkKeys(k.RowRange(from, to), v.RowRange(from, to))
		s.checkQueries(q.RowRange(from, to))
		dst = dense.Ensure(dst, q.Rows, s.heads*s.dv)
	}
	c.dst, c.q, c.k, c.v, c.states = dst, q, k, v, states
	parallel.Do(len(c.starts)-1, c)
	for _, m := range []*dense.Matrix[T]{&c.dst, &c.q, &c.k, &c.v} {
		*m = dense.Matrix[T]{}
	}
	c.states = nil
	pool.Put(&stepCalls, c)
	return dst
}

type stepCall[T dense.Float] struct {
	dst, q, k, v dense.Matrix[T]
	states       []*State[T]
	starts       []int // the first row of each stream, and the number of rows
}

var stepCalls pool.Pair[stepCall[float32], stepCall[float64]]

func (c *stepCall[T]) Piece(i int) {
	from, to := c.starts[i], c.starts[i+1]
	c.states[from].Step(c.dst.RowRange(from, to), c.q.RowRange(from, to), c.k.RowRange(from, to), c.v.RowRange(from, to))
}
