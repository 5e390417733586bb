package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Maskable is a [Attention] of another package that [Batch] and [Attend] may let see a part of the keys:
// those that count, with a past before the first query. Clusters of package clusters are Maskable;
// the forms of this package need not be. A bidirectional form, as its Description says, gets the keys
// that count, side by side, and places of keys must not matter to it.
type Maskable[T dense.Float] interface {
	Attention[T]
	Described

	// ForwardSeen is Forward for queries that see the first keys only: query i sees seen[i] of them.
	// seen ascends, and no number is negative or above the number of keys. A query that sees no key
	// gets zero. Only causal forms are asked.
	//
	// If query i sees i+1 keys, the bits are those of Forward over as many keys as queries, whatever
	// the queries after query i see.
	ForwardSeen(dst, q, k, v dense.Matrix[T], seen []int) dense.Matrix[T]
}

// takesMasks reports whether a form can leave out keys and take a past.
func takesMasks[T dense.Float](form Attention[T]) bool {
	switch form.(type) {
	case maskedForm[T], Maskable[T]:
		return true
	}
	return false
}

// answer gives a request to a form.
func answer[T dense.Float](form Attention[T], p request[T]) {
	switch f := form.(type) {
	case maskedForm[T]:
		f.attend(p)
	case Maskable[T]:
		answerPart(f, p)
	default:
		form.Forward(p.dst, p.q, p.k, p.v)
	}
}

// answerPart gives a request of one head to a form of another package.
func answerPart[T dense.Float](form Maskable[T], p request[T]) {
	causal := form.Describe().Causal
	if causal {
		if p = trimmed(p); p.q.Rows == 0 {
			return
		}
	}
	k, v, copies := layout.ValidOnly(p.k, p.v, p.valid)
	if !causal || p.valid == nil && p.past == 0 && p.q.Rows == k.Rows {
		form.Forward(p.dst, p.q, k, v)
	} else {
		c := counts.Get()
		c.seen = scratch.Resize(c.seen, p.q.Rows)
		countSeen(p, c.seen)
		form.ForwardSeen(p.dst, p.q, k, v, c.seen)
		counts.Put(c)
	}
	copies.Release()
}

// countSeen sets seen[i] to the number of keys that count and that query i of a causal request sees.
func countSeen[T dense.Float](p request[T], seen []int) {
	n, next := 0, 0
	for i := range seen {
		for end := min(p.past+i+1, p.k.Rows); next < end; next++ {
			if p.valid == nil || p.valid[next] {
				n++
			}
		}
		seen[i] = n
	}
}

// count is memory for the numbers of keys that queries see.
type count struct{ seen []int }

var counts pool.Of[count]

// takesMasksBackward reports whether a form can leave out keys and take a past when it takes gradients
// back.
func takesMasksBackward[T dense.Float](form Attention[T]) bool {
	if _, ok := form.(maskedForm[T]); ok {
		return true
	}
	m, ok := form.(Maskable[T])
	return ok && !m.Describe().Causal
}

// answerBackward gives a request for gradients to a form, which is Differentiable.
func answerBackward[T dense.Float](form Attention[T], p gradientRequest[T]) {
	if f, ok := form.(maskedDifferentiable[T]); ok {
		f.attendBackward(p)
		return
	}
	f := form.(Differentiable[T])
	if !takesMasksBackward(form) {
		f.Backward(p.dq, p.dk, p.dv, p.q, p.k, p.v, p.dout)
		return
	}
	s := pool.Get[selection[T]](&selections)
	queries, keys, _ := s.selected(p, false)
	if g := s.take(p, queries, keys); !g.Empty() {
		f.Backward(g.DQ, g.DK, g.DV, g.Q, g.K, g.V, g.DOut)
	}
	s.give(p, queries, keys)
	pool.Put(&selections, s)
}
