package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// PrefixAttention is attention of another package whose queries may see a prefix of the keys. [Batch]
// and [Attend] need it for sequences with a past, and to leave out keys that do not count. Attention of
// package clusters is PrefixAttention; attention of this package need not be. Bidirectional attention,
// as its Description says, gets the keys that count alone, so its outputs must not depend on the index
// of a key.
type PrefixAttention[T dense.Float] interface {
	Attention[T]
	Described

	// ForwardPrefixes is Forward over prefixes of the keys: query i sees the first prefixes[i] keys. The
	// numbers ascend from at least 0 to at most the number of keys. The output of a query that sees no
	// key is zero. Batch and Attend call ForwardPrefixes for causal attention only.
	//
	// If query i sees i+1 keys, its output has the bits of Forward over equal numbers of queries and
	// keys. The prefixes of later queries do not change these bits.
	ForwardPrefixes(dst, q, k, v dense.Matrix[T], prefixes []int) dense.Matrix[T]
}

// takesMasks reports whether a form can leave out keys and take a past.
func takesMasks[T dense.Float](attention Attention[T]) bool {
	switch attention.(type) {
	case maskedAttention[T], PrefixAttention[T]:
		return true
	}
	return false
}

// answer gives a request to a form.
func answer[T dense.Float](attention Attention[T], p request[T]) {
	switch f := attention.(type) {
	case maskedAttention[T]:
		f.attend(p)
	case PrefixAttention[T]:
		answerPart(f, p)
	default:
		attention.Forward(p.dst, p.q, p.k, p.v)
	}
}

// answerPart gives a request of one head to a form of another package.
func answerPart[T dense.Float](attention PrefixAttention[T], p request[T]) {
	causal := attention.Describe().Causal
	if causal {
		if p = trimmed(p); p.q.Rows == 0 {
			return
		}
	}
	k, v, copies := layout.ValidOnly(p.k, p.v, p.valid)
	if !causal || p.valid == nil && p.past == 0 && p.q.Rows == k.Rows {
		attention.Forward(p.dst, p.q, k, v)
	} else {
		c := counts.Get()
		c.seen = scratch.Resize(c.seen, p.q.Rows)
		countSeen(p, c.seen)
		attention.ForwardPrefixes(p.dst, p.q, k, v, c.seen)
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
func takesMasksBackward[T dense.Float](attention Attention[T]) bool {
	if _, ok := attention.(maskedAttention[T]); ok {
		return true
	}
	m, ok := attention.(PrefixAttention[T])
	return ok && !m.Describe().Causal
}

// answerBackward gives a request for gradients to a form, which is Differentiable.
func answerBackward[T dense.Float](attention Attention[T], p gradientRequest[T]) {
	if f, ok := attention.(maskedDifferentiable[T]); ok {
		f.attendBackward(p)
		return
	}
	f := attention.(Differentiable[T])
	if !takesMasksBackward(attention) {
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
