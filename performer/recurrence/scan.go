package recurrence

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const chunkRows = 48

// scan updates S, or some columns of S, with the tokens of a sequence. A scan has one head of keys
// and the heads of queries that read its state.
type scan[T dense.Float] struct {
	r      *recurrence[T]
	x      Tokens[T]
	dk, dv int
	from   int // the first of the dv columns among the columns of the head
	group  int // heads of queries, 0 without queries
	scale  T

	stack scratch.Buffer[T] // keys, then the queries of each head: chunkRows rows each
	norms []T               // factors that normalise the keys
	betas []T
	token []T // of one token: an output, u, the decays of rows, the key times the decays

	panels panels[T]

	// Of a chunk in a backward pass.
	s            []T               // S before the chunk, dk×dv
	pairs        scratch.Buffer[T] // M, then P of each head: chunkRows rows each
	weighted     scratch.Buffer[T] // the stack times decays
	u            scratch.Buffer[T] // U
	decays       decays[T]
	packS, packK matmul.Packed[T]
	factor       triangular.Factor[T]
	gradient     gradient[T]
}

func (l *scan[T]) start(r *recurrence[T], x Tokens[T], dk, dv int) {
	l.r, l.x, l.dk, l.dv, l.from = r, x, dk, dv, 0
	l.scale = r.scale(dk)
	l.group = 0
	if x.Q.Rows > 0 {
		l.group = r.heads / r.valueHeads
	}
	l.stack.Shape((1+l.group)*chunkRows, dk)
	l.betas, l.norms = scratch.Resize(l.betas, chunkRows), scratch.Resize(l.norms, chunkRows)
}

func (l *scan[T]) release() { l.r, l.x = nil, Tokens[T]{} }

// rowsOf returns the first n rows of block s of a buffer with blocks of chunkRows rows. Block 0
// belongs to the keys, and block s > 0 to head s − 1 of the queries.
func rowsOf[T dense.Float](b *scratch.Buffer[T], s, n int) dense.Matrix[T] {
	return b.Rows(s*chunkRows+n).RowRange(s*chunkRows, s*chunkRows+n)
}

func (l *scan[T]) keys(lo, hi int) dense.Matrix[T] {
	keys := dense.Copy(rowsOf(&l.stack, 0, hi-lo), l.x.K.RowRange(lo, hi))
	l.normalise(keys)
	return keys
}

func (l *scan[T]) queries(s, lo, hi int) dense.Matrix[T] {
	return dense.Copy(rowsOf(&l.stack, s, hi-lo), layout.Head(l.x.Q.RowRange(lo, hi), s-1, l.group))
}

func (l *scan[T]) strengths(lo, hi int) []T {
	if !l.r.opts.Rule.corrects() {
		return nil
	}
	for i := lo; i < hi; i++ {
		l.betas[i-lo] = l.x.Beta.Row(i)[0]
	}
	return l.betas[:hi-lo]
}

func scaleRows[T dense.Float](x dense.Matrix[T], a T) {
	for i := range x.Rows {
		vecmath.Scale(x.Row(i), a)
	}
}

// normalise multiplies each key by (Σx² + 10⁻⁶)^−½ if NormaliseKeys is set.
func (l *scan[T]) normalise(keys dense.Matrix[T]) {
	if !l.r.opts.NormaliseKeys {
		return
	}
	for i := range keys.Rows {
		l.norms[i] = T(1 / math.Sqrt(2*vecmath.HalfSquaredNorm(keys.Row(i))+1e-6))
		vecmath.Scale(keys.Row(i), l.norms[i])
	}
}

// writeToken updates s with a token. If query, which includes the scale, is not nil, writeToken
// writes the output of the query to out. writeToken passes over s once to correct and once to
// update.
func (l *scan[T]) writeToken(s dense.Matrix[T], key, value, g []T, beta T, query, out []T) {
	u, decays := l.token[l.dv:][:len(value)], l.decaysOf(g)
	if l.r.opts.Rule.corrects() {
		corrected := key
		if len(g) > 0 {
			corrected = l.token[2*l.dv+l.dk:][:l.dk]
			copy(corrected, key)
			vecmath.Multiply(corrected, decays)
		}
		readToken(s, corrected, u)
		vecmath.AffineEach(u, -1, value, 0)
		vecmath.Scale(u, beta)
	} else {
		copy(u, value)
	}
	if out == nil {
		for f, x := range key {
			if len(g) > 0 {
				vecmath.Scale(s.Row(f), decays[f])
			}
			vecmath.AddScaled(s.Row(f), u, x)
		}
		return
	}
	clear(out)
	if len(g) > 0 {
		vecmath.DecayOuter(s.Data, s.Stride, decays, key, query, u, out)
		return
	}
	vecmath.Outer(s.Data, s.Stride, key, query, u, out)
}

// decaysOf returns e^g for each row of S, for one decay or a decay for each row, and nil for an
// empty g.
func (l *scan[T]) decaysOf(g []T) []T {
	if len(g) == 0 {
		return nil
	}
	decays := l.token[2*l.dv:][:l.dk]
	vecmath.Exp(decays[:len(g)], g)
	if len(g) == 1 {
		layout.Fill(decays, decays[0])
	}
	return decays
}

// readToken sets out to sᵀ·query.
func readToken[T dense.Float](s dense.Matrix[T], query, out []T) {
	clear(out)
	vecmath.SumRows(s.Data, s.Stride, query, out)
}
