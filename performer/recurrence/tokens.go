package recurrence

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Tokens are queries, keys, values, decays and strengths for a [Recurrence]. In the matrices of
// Tokens a row is a token, and a head is a block of columns. In a result of [Recurrence.Backward],
// each matrix of Tokens is the gradient with respect to that matrix of the input.
type Tokens[T dense.Float] struct {
	Q dense.Matrix[T] // L×H·dk
	K dense.Matrix[T] // L×Hk·dk
	V dense.Matrix[T] // L×Hv·dv

	// Decay has a row for each token, with decays g ≤ 0 whose factor e^g multiplies the state S of
	// a head: a column for each head of values, or a column for each row of S of each head. Decay
	// is the zero Matrix for the rules Linear and Delta, which have no decay. With a decay g > 0
	// the state S may grow. A decay g below −2²⁰ may count as −2²⁰, whose factor e^g is zero.
	Decay dense.Matrix[T]

	// Beta has a row for each token, with the strengths β of the delta rules: a column for each
	// head of values, or one column if all heads share β. Beta is the zero Matrix for the rules
	// Linear and Gated, which have no strength β.
	Beta dense.Matrix[T]

	// Lengths are the numbers of tokens of the sequences, which follow one another in the rows of
	// Tokens. A sequence may have no tokens: its element of Lengths is zero. Nil Lengths stand for
	// one sequence.
	Lengths []int
}

func sequencesOf[T dense.Float](x Tokens[T]) int {
	if x.Lengths == nil {
		return 1
	}
	return len(x.Lengths)
}

func (r *recurrence[T]) headOf(x Tokens[T], head, lo, hi int) Tokens[T] {
	key, group := r.keyOf(head), r.queryHeads/r.keyHeads
	x = rowRange(x, lo, hi)
	x.Q = layout.Heads(x.Q, key*group, (key+1)*group, r.queryHeads)
	x.K = layout.Head(x.K, key, r.keyHeads)
	x.V, x.Decay = layout.Head(x.V, head, r.valueHeads), layout.Head(x.Decay, head, r.valueHeads)
	if x.Beta.Cols > 1 {
		x.Beta = layout.Head(x.Beta, head, r.valueHeads)
	}
	return x
}

func (r *recurrence[T]) keyOf(head int) int { return head * r.keyHeads / r.valueHeads }

func rowRange[T dense.Float](x Tokens[T], lo, hi int) Tokens[T] {
	x.Lengths = nil
	for _, m := range []*dense.Matrix[T]{&x.Q, &x.K, &x.V, &x.Decay, &x.Beta} {
		if m.Rows > 0 {
			*m = m.RowRange(lo, hi)
		}
	}
	return x
}

// check panics unless keys, values, decays, strengths and lengths fit together and fit r.
func (r *recurrence[T]) check(x Tokens[T]) (dk, dv int) {
	k, v := x.K, x.V
	k.Check()
	v.Check()
	if k.Rows != v.Rows {
		panic(fmt.Sprintf("recurrence: k is %d×%d, v is %d×%d, want as many values as keys", k.Rows, k.Cols, v.Rows, v.Cols))
	}
	if k.Cols%r.keyHeads != 0 || v.Cols%r.valueHeads != 0 {
		panic(fmt.Sprintf("recurrence: k is %d×%d, v is %d×%d, want columns that %d heads of keys and %d of values can share",
			k.Rows, k.Cols, v.Rows, v.Cols, r.keyHeads, r.valueHeads))
	}
	dk, dv = k.Cols/r.keyHeads, v.Cols/r.valueHeads
	r.checkGate("decay", x.Decay, k, r.opts.Rule.decays(), r.valueHeads, r.valueHeads*dk)
	r.checkGate("beta", x.Beta, k, r.opts.Rule.corrects(), 1, r.valueHeads)
	if x.Lengths != nil {
		if err := layout.CheckLengths(x.Lengths, k.Rows); err != nil {
			panic("recurrence: Tokens.Lengths " + err.Error())
		}
	}
	return dk, dv
}

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

func (r *recurrence[T]) checkQueries(x Tokens[T]) {
	q, k := x.Q, x.K
	q.Check()
	if q.Rows != k.Rows {
		panic(fmt.Sprintf("recurrence: q is %d×%d, k is %d×%d, want as many queries as keys", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	if q.Cols != k.Cols/r.keyHeads*r.queryHeads {
		panic(fmt.Sprintf("recurrence: q is %d×%d, k is %d×%d, want columns of %d heads of queries and %d of keys of one dimension",
			q.Rows, q.Cols, k.Rows, k.Cols, r.queryHeads, r.keyHeads))
	}
}

func (r *recurrence[T]) checkStates(name string, m dense.Matrix[T], sequences, dk, dv int) {
	m.Check()
	if rows := sequences * r.valueHeads * dk; (m.Rows != 0 || m.Cols != 0) && (m.Rows != rows || m.Cols != dv) {
		panic(fmt.Sprintf("recurrence: %s is %d×%d, want %d×%d: %d sequences, %d heads of values and %d×%d sums of each",
			name, m.Rows, m.Cols, rows, dv, sequences, r.valueHeads, dk, dv))
	}
}
