package recurrence

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// chunkRows is the number of tokens of a chunk.
const chunkRows = 48

// scan takes the tokens of a sequence, of one head of keys and the heads of queries that
// read it, through its sums S, or some columns of them.
type scan[T dense.Float] struct {
	r      *recurrence[T]
	x      Tokens[T]
	dk, dv int
	from   int // the first of the dv columns in those of the head
	group  int // heads of queries, 0 if there are no queries
	scale  T

	stack scratch.Buffer[T] // keys, then the queries of each head: chunkRows rows each
	norms []T               // by which keys were multiplied
	betas []T
	token []T // of one token: an output, what it writes, its decays, the key times these

	panels panels[T]

	// Of a chunk of a scan on its way back.
	sum          []T               // S before the chunk, dk×dv
	pairs        scratch.Buffer[T] // M, then P of each head: chunkRows rows each
	weighted     scratch.Buffer[T] // the stack with factors, as it is needed
	u            scratch.Buffer[T] // U
	decays       decays[T]
	packS, packK matmul.Packed[T]
	factor       triangular.Factor[T]
	reverse      reverse[T]
}

// start prepares for the tokens x.
func (l *scan[T]) start(r *recurrence[T], x Tokens[T], dk, dv int) {
	l.r, l.x, l.dk, l.dv, l.from = r, x, dk, dv, 0
	l.scale = r.scale(dk)
	l.group = 0
	if x.Q.Rows > 0 {
		l.group = r.heads / r.keyHeads
	}
	l.stack.Shape((1+l.group)*chunkRows, dk)
	l.betas, l.norms = scratch.Resize(l.betas, chunkRows), scratch.Resize(l.norms, chunkRows)
}

// forget lets go of what belongs to the caller.
func (l *scan[T]) forget() { l.r, l.x = nil, Tokens[T]{} }

// rowsOf returns the first n of the chunkRows rows of a buffer that belong to the keys, s = 0, or
// to the queries of head s − 1.
func rowsOf[T dense.Float](b *scratch.Buffer[T], s, n int) dense.Matrix[T] {
	return b.Rows(s*chunkRows+n).RowRange(s*chunkRows, s*chunkRows+n)
}

// keys returns the keys of the tokens lo ≤ i < hi as they enter the recurrence, in the stack.
func (l *scan[T]) keys(lo, hi int) dense.Matrix[T] {
	keys := rowsOf(&l.stack, 0, hi-lo)
	transform(l.r.key, keys, l.x.K.RowRange(lo, hi))
	l.normalise(keys)
	return keys
}

// queries returns the queries of the tokens lo ≤ i < hi and of head s − 1 of the group, in the stack.
func (l *scan[T]) queries(s, lo, hi int) dense.Matrix[T] {
	queries := rowsOf(&l.stack, s, hi-lo)
	transform(l.r.query, queries, layout.Head(l.x.Q.RowRange(lo, hi), s-1, l.group))
	return queries
}

// strengths returns β of the tokens lo ≤ i < hi, or nothing if the rule wants none.
func (l *scan[T]) strengths(lo, hi int) []T {
	if !l.r.opts.Rule.corrects() {
		return nil
	}
	for i := lo; i < hi; i++ {
		l.betas[i-lo] = l.x.Beta.Row(i)[0]
	}
	return l.betas[:hi-lo]
}

// transform writes the features of x into dst, or x itself without a map.
func transform[T dense.Float](m rff.Map[T], dst, x dense.Matrix[T]) {
	if m == nil {
		dense.Copy(dst, x)
	} else {
		m.Transform(dst, x)
	}
}

// scaleRows multiplies x by a.
func scaleRows[T dense.Float](x dense.Matrix[T], a T) {
	for i := range x.Rows {
		vecmath.Scale(x.Row(i), a)
	}
}

// normalise multiplies each key by (Σx² + 10⁻⁶)^−½, if that is wanted.
func (l *scan[T]) normalise(keys dense.Matrix[T]) {
	if !l.r.opts.NormaliseKeys {
		return
	}
	for i := range keys.Rows {
		l.norms[i] = T(1 / math.Sqrt(2*vecmath.HalfSquaredNorm(keys.Row(i))+1e-6))
		vecmath.Scale(keys.Row(i), l.norms[i])
	}
}
