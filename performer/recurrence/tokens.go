package recurrence

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// sequencesOf returns the number of sequences.
func sequencesOf[T dense.Float](x Tokens[T]) int {
	if x.Lengths == nil {
		return 1
	}
	return len(x.Lengths)
}

// headOf returns the rows lo ≤ i < hi of a head of keys and of the heads of queries that read it.
func (r *recurrence[T]) headOf(x Tokens[T], head, lo, hi int) Tokens[T] {
	group := r.heads / r.keyHeads
	x = rowRange(x, lo, hi)
	x.Q = layout.Heads(x.Q, head*group, (head+1)*group, r.heads)
	x.K, x.V, x.Decay = layout.Head(x.K, head, r.keyHeads), layout.Head(x.V, head, r.keyHeads), layout.Head(x.Decay, head, r.keyHeads)
	if x.Beta.Cols > 1 {
		x.Beta = layout.Head(x.Beta, head, r.keyHeads)
	}
	return x
}

// rowRange returns the rows lo ≤ i < hi of the matrices that x has, as one sequence.
func rowRange[T dense.Float](x Tokens[T], lo, hi int) Tokens[T] {
	x.Lengths = nil
	for _, m := range []*dense.Matrix[T]{&x.Q, &x.K, &x.V, &x.Decay, &x.Beta} {
		if m.Rows > 0 {
			*m = m.RowRange(lo, hi)
		}
	}
	return x
}

// check panics unless keys, values, decays, strengths and lengths fit together and r, and
// returns the shape of the sums of a head.
func (r *recurrence[T]) check(x Tokens[T]) (dk, dv int) {
	k, v := x.K, x.V
	k.Check()
	v.Check()
	if k.Rows != v.Rows {
		panic(fmt.Sprintf("recurrence: k is %d×%d, v is %d×%d, want as many values as keys", k.Rows, k.Cols, v.Rows, v.Cols))
	}
	if k.Cols%r.keyHeads != 0 || v.Cols%r.keyHeads != 0 {
		panic(fmt.Sprintf("recurrence: k is %d×%d, v is %d×%d, want columns that %d heads can share", k.Rows, k.Cols, v.Rows, v.Cols, r.keyHeads))
	}
	dk, dv = k.Cols/r.keyHeads, v.Cols/r.keyHeads
	if r.m > 0 {
		if dk != r.d {
			panic(fmt.Sprintf("recurrence: k is %d×%d, want n×%d for %d heads, as the maps take points of R^%d", k.Rows, k.Cols, r.keyHeads*r.d, r.keyHeads, r.d))
		}
		dk = r.m
	}
	r.checkGate("decay", x.Decay, k, r.opts.Rule.decays(), r.keyHeads, r.keyHeads*dk)
	r.checkGate("beta", x.Beta, k, r.opts.Rule.corrects(), 1, r.keyHeads)
	if x.Lengths != nil {
		if err := layout.CheckLengths(x.Lengths, k.Rows); err != nil {
			panic("recurrence: Tokens.Lengths " + err.Error())
		}
	}
	return dk, dv
}

// checkGate panics unless there is a decay or β, of either width, where it is wanted, and
// none where not.
func (r *recurrence[T]) checkGate(name string, g, k dense.Matrix[T], wanted bool, narrow, wide int) {
	g.Check()
	switch {
	case !wanted && (g.Rows != 0 || g.Cols != 0):
		panic(fmt.Sprintf("recurrence: %s is %d×%d, want none for the %v rule", name, g.Rows, g.Cols, r.opts.Rule))
	case wanted && k.Rows == 0 && g.Rows == 0:
	case wanted && (g.Rows != k.Rows || g.Cols != narrow && g.Cols != wide):
		panic(fmt.Sprintf("recurrence: %s is %d×%d, k is %d×%d, want %d×%d or %d×%d for the %v rule",
			name, g.Rows, g.Cols, k.Rows, k.Cols, k.Rows, narrow, k.Rows, wide, r.opts.Rule))
	}
}

// checkQueries panics unless the queries fit the keys.
func (r *recurrence[T]) checkQueries(x Tokens[T]) {
	q, k := x.Q, x.K
	q.Check()
	if q.Rows != k.Rows {
		panic(fmt.Sprintf("recurrence: q is %d×%d, k is %d×%d, want as many queries as keys", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	if q.Cols != k.Cols/r.keyHeads*r.heads {
		panic(fmt.Sprintf("recurrence: q is %d×%d, k is %d×%d, want columns of %d heads of queries and %d of keys of one dimension",
			q.Rows, q.Cols, k.Rows, k.Cols, r.heads, r.keyHeads))
	}
}

// checkSums panics unless there are none or those of all heads and sequences.
func (r *recurrence[T]) checkSums(name string, m dense.Matrix[T], sequences, dk, dv int) {
	m.Check()
	if rows := sequences * r.keyHeads * dk; (m.Rows != 0 || m.Cols != 0) && (m.Rows != rows || m.Cols != dv) {
		panic(fmt.Sprintf("recurrence: %s is %d×%d, want %d×%d: %d sequences, %d heads of keys and %d×%d sums of each",
			name, m.Rows, m.Cols, rows, dv, sequences, r.keyHeads, dk, dv))
	}
}
