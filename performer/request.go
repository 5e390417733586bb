package performer

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// request is one task for a form: the queries of some heads, side by side, over the keys and values
// of one head, in one sequence. q and dst have the columns of all these heads.
type request[T dense.Float] struct {
	dst, q, k, v dense.Matrix[T] // dst is for outputs alone
	heads        int
	valid        []bool         // keys that count; nil are all
	masked       bool           // place 0 is that of key 0; otherwise it is that of the first key that counts
	past         int            // query i sees the keys j ≤ i + past if causal
	processors   int            // that the form may use
	pairs        tiles.Pairs[T] // for Exact, which then has one head
}

// gradientRequest is a request for gradients. dq and dout have the columns of all heads.
type gradientRequest[T dense.Float] struct {
	request[T]
	dq, dk, dv, dout dense.Matrix[T]
}

// gradientsOf returns the matrices of the request.
func gradientsOf[T dense.Float](p gradientRequest[T]) sums.Gradients[T] {
	return sums.Gradients[T]{DQ: p.dq, DK: p.dk, DV: p.dv, Q: p.q, K: p.k, V: p.v, DOut: p.dout}
}

// maskedAttention is a form that can leave out keys and take a past.
type maskedAttention[T dense.Float] interface {
	Attention[T]

	// attend answers a request, whose shapes fit. A query that sees no key gets zero.
	attend(p request[T])

	// shares reports whether heads over the same keys cost less together.
	shares() bool
}

// maskedDifferentiable is a maskedAttention that also takes gradients back.
type maskedDifferentiable[T dense.Float] interface {
	Differentiable[T]

	// attendBackward writes the gradients of a request, whose shapes fit. Gradients of keys that do
	// not count are zero. A query whose outputs have the gradient zero has the gradient zero, and
	// adds nothing to other gradients, even if it holds NaN. A request has more than one head only
	// if the form shares.
	attendBackward(p gradientRequest[T])
}

// head returns the request for one of the heads.
func (p request[T]) head(h int) request[T] {
	p.dst, p.q, p.heads = layout.Head(p.dst, h, p.heads), layout.Head(p.q, h, p.heads), 1
	return p
}

// queries returns the request for the queries from ≤ i < to.
func (p request[T]) queries(from, to int) request[T] {
	p.dst, p.q, p.past = p.dst.RowRange(from, to), p.q.RowRange(from, to), p.past+from
	return p
}

// trimmed sets the outputs of queries that see no key to zero in a causal request. It returns the
// request for the other queries, and for the keys from the first to the last that count and are
// seen, or from key 0 on if masked. The past of the result is not negative, and its valid is nil if
// all keys count.
func trimmed[T dense.Float](p request[T]) request[T] {
	first, keys := 0, 0
	if seen := min(p.k.Rows, max(p.past+p.q.Rows, 0)); p.valid == nil {
		keys = seen
	} else {
		first, keys = extent(p.valid[:seen])
	}
	unseen := p.q.Rows
	if first < keys {
		unseen = min(max(first-p.past, 0), p.q.Rows)
	}
	if p.masked {
		first = 0
	}
	layout.Zero(p.dst.RowRange(0, unseen))
	p = p.queries(unseen, p.q.Rows)
	p.k, p.v, p.past = p.k.RowRange(first, keys), p.v.RowRange(first, keys), p.past-first
	if p.valid = p.valid[min(first, len(p.valid)):min(keys, len(p.valid))]; !slices.Contains(p.valid, false) {
		p.valid = nil
	}
	return p
}

// cut returns the request for the keys of span.
func cut[T dense.Float](p request[T]) request[T] {
	first, end := p.span()
	p.k, p.v, p.past = p.k.RowRange(first, end), p.v.RowRange(first, end), p.past-first
	p.valid = p.valid[min(first, len(p.valid)):min(end, len(p.valid))]
	return p
}

// span returns the keys first ≤ j < end from place 0 to the last key that counts.
func (p request[T]) span() (first, end int) {
	if p.valid == nil {
		return 0, p.k.Rows
	}
	if first, end = extent(p.valid); p.masked {
		first = 0
	}
	return first, end
}

// extent returns the first valid index and the index after the last valid one, or 0 and 0.
func extent(valid []bool) (from, to int) {
	if from = slices.Index(valid, true); from < 0 {
		return 0, 0
	}
	for to = len(valid); !valid[to-1]; to-- {
	}
	return from, to
}
