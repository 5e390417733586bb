package recurrence

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/layout"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/scratch"
	"github.com/seed-feabd252/randfeat/internal/triangular"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/rff"
)

// chunkRows is the number of tokens of a chunk. A token costs up to three products with S,
// 3·dk·dv multiply-adds, and in a chunk of c up to 2c·dk + 3c/2·dv more.
const chunkRows = 48

// scan takes the tokens of a sequence, of one head of keys and the heads of queries that
// read it, through its sums S, or some columns of them, a chunk at a time.
type scan[T dense.Float] struct {
	r      *Recurrence[T]
	x      Tokens[T]
	dk, dv int
	from   int // the first of the dv columns in those of the head
	group  int // heads of queries, 0 if there are no queries
	scale  T

	sum      []T               // S, dk×dv
	stack    scratch.Buffer[T] // keys, then the queries of each head, times the scale: chunkRows rows each
	norms    []T               // by which keys were multiplied
	pairs    scratch.Buffer[T] // M, then P of each head: chunkRows rows each
	weighted scratch.Buffer[T] // the stack with factors, as it is needed
	u        scratch.Buffer[T] // U
	betas    []T
	decays   decays[T]

	packS, packU, packK matmul.Packed[T]
	factor              triangular.Factor[T]
	token               []T // of one token: an output, what it writes, its decays
	reverse             reverse[T]
}

// start prepares for the tokens x.
func (l *scan[T]) start(r *Recurrence[T], x Tokens[T], dk, dv int) {
	l.r, l.x, l.dk, l.dv, l.from = r, x, dk, dv, 0
	l.scale = r.scale(dk)
	l.group = 0
	if x.Q.Rows > 0 {
		l.group = r.heads / r.keyHeads
	}
	rows := (1 + l.group) * chunkRows
	l.sum = scratch.Resize(l.sum, dk*dv)
	l.stack.Shape(rows, dk)
	l.weighted.Shape(rows, dk)
	l.pairs.Shape(rows, chunkRows)
	l.u.Shape(chunkRows, dv)
	l.betas, l.norms = scratch.Resize(l.betas, chunkRows), scratch.Resize(l.norms, chunkRows)
	width := 0
	if r.opts.Rule.decays() {
		width = x.Decay.Cols
	}
	l.decays.shape(width, chunkRows)
	l.token = scratch.Resize(l.token, 2*dv+dk)
}

// forget lets go of what belongs to the caller.
func (l *scan[T]) forget() { l.r, l.x = nil, Tokens[T]{} }

// sums returns S.
func (l *scan[T]) sums() dense.Matrix[T] { return dense.Of(l.dk, l.dv, l.sum) }

// setSums makes S a copy of past, or zeros of nothing.
func (l *scan[T]) setSums(past dense.Matrix[T]) {
	if past.Rows == 0 {
		clear(l.sum)
		return
	}
	dense.Copy(l.sums(), past)
}

// rowsOf returns the first n of the chunkRows rows of a buffer that belong to the keys, s = 0, or
// to the queries of head s − 1.
func rowsOf[T dense.Float](b *scratch.Buffer[T], s, n int) dense.Matrix[T] {
	return b.Rows(s*chunkRows+n).RowRange(s*chunkRows, s*chunkRows+n)
}

// forward takes in all tokens and writes the outputs into dst, if there are queries.
func (l *scan[T]) forward(dst dense.Matrix[T]) {
	for lo := 0; lo < l.x.K.Rows; lo += chunkRows {
		l.advance(dst, lo, min(lo+chunkRows, l.x.K.Rows))
	}
}

// advance is forward for the chunk of the tokens lo ≤ i < hi.
func (l *scan[T]) advance(dst dense.Matrix[T], lo, hi int) {
	n := hi - lo
	l.load(lo, hi)
	matmul.Pack(&l.packS, l.sums())
	l.allPairs(n)
	l.write(lo, hi, dense.Matrix[T]{})
	if !finiteRows(l.u.Rows(n)) {
		l.advanceBlocks(dst, lo, hi)
		return
	}
	keys := rowsOf(&l.stack, 0, n)
	l.decays.weigh(keys, l.decays.down)
	l.finish(dst, keys, lo, hi, 0, l.dv)
}

// finish writes the outputs of a chunk for the columns from ≤ e < to, which packS has of S, and
// makes these what they are after it. keys have been multiplied by e^(b_{n−1} − b).
func (l *scan[T]) finish(dst, keys dense.Matrix[T], lo, hi, from, to int) {
	n := hi - lo
	matmul.Pack(&l.packU, l.u.Rows(n).ColRange(from, to))
	for s := 1; s <= l.group; s++ {
		l.read(l.outputs(dst, s-1, lo, hi).ColRange(from, to), s, n)
	}
	l.update(keys, l.sums().ColRange(from, to))
}

// outputs returns the rows lo ≤ i < hi of a head of dst, the columns of the scan.
func (l *scan[T]) outputs(dst dense.Matrix[T], head, lo, hi int) dense.Matrix[T] {
	return layout.Head(dst.RowRange(lo, hi), head, l.group).ColRange(l.from, l.from+l.dv)
}

// load takes the tokens lo ≤ i < hi: keys and queries as they enter the recurrence.
func (l *scan[T]) load(lo, hi int) {
	n := hi - lo
	keys := rowsOf(&l.stack, 0, n)
	transform(l.r.key, keys, l.x.K.RowRange(lo, hi))
	l.normalise(keys)
	for s := 1; s <= l.group; s++ {
		queries := rowsOf(&l.stack, s, n)
		transform(l.r.query, queries, layout.Head(l.x.Q.RowRange(lo, hi), s-1, l.group))
		scaleRows(queries, l.scale)
	}
	if l.decays.width > 0 {
		l.decays.fill(l.x.Decay.RowRange(lo, hi))
	}
	if l.r.opts.Rule.corrects() {
		for i := range n {
			l.betas[i] = l.x.Beta.Row(lo + i)[0]
		}
	}
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

// write makes U, what the tokens of the chunk add to S: row i is v_i or, by a delta rule,
// β_i·e_i where
//
//	(I + M·diag(β))·E = V − (e^b∘K)·S,
//
// which is copied into e, if that has rows.
func (l *scan[T]) write(lo, hi int, e dense.Matrix[T]) {
	u := dense.Copy(l.u.Rows(hi-lo), l.x.V.RowRange(lo, hi))
	if !l.r.opts.Rule.corrects() {
		return
	}
	l.errors(u)
	if e.Rows > 0 {
		dense.Copy(e, u)
	}
	for i := range u.Rows {
		vecmath.Scale(u.Row(i), l.betas[i])
	}
}

// errors replaces the values u by E. M is not there after that.
func (l *scan[T]) errors(u dense.Matrix[T]) {
	n := u.Rows
	matmul.MulPacked(-1, l.weighed(0, n), &l.packS, 1, u, nil)
	m := rowsOf(&l.pairs, 0, n).ColRange(0, n)
	for i := range n {
		vecmath.Multiply(m.Row(i)[:i], l.betas)
	}
	l.factor.Set(m, nil)
	l.factor.Solve(u)
}

// weighed returns keys or queries times e^b.
func (l *scan[T]) weighed(s, n int) dense.Matrix[T] {
	x := rowsOf(&l.stack, s, n)
	if l.decays.width == 0 {
		return x
	}
	w := dense.Copy(rowsOf(&l.weighted, s, n), x)
	l.decays.weigh(w, l.decays.up)
	return w
}

// read writes the outputs of the queries s: (e^b∘Q)·S + P·U for the columns that packS and packU
// have.
func (l *scan[T]) read(out dense.Matrix[T], s, n int) {
	matmul.MulPacked(1, l.weighed(s, n), &l.packS, 0, out, nil)
	matmul.MulPacked(1, rowsOf(&l.pairs, s, n).ColRange(0, n), &l.packU, 1, out, nil)
}

// update makes S, or some of its columns, what it is after the chunk: e^b∘S + KᵀU for keys that
// have been multiplied by e^(b_{n−1} − b).
func (l *scan[T]) update(keys, s dense.Matrix[T]) {
	beta := T(1)
	switch l.decays.width {
	case 0:
	case 1:
		// A product with β = 0 does not read S, which may not be finite.
		if beta = l.decays.all[0]; beta == 0 {
			beta = 1
			scaleRows(s, 0)
		}
	default:
		l.decays.weighSums(s)
	}
	matmul.TMulPacked(1, keys, &l.packU, beta, s, nil)
}
