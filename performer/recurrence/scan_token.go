package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// blockColumns is the number of columns of S that go token by token if one of them must. It depends
// on nothing else, and scans take complete blocks, so that bits do not depend on the number of
// scans.
const blockColumns = 32

// columnBlocks returns the number of blocks of dv columns.
func columnBlocks(dv int) int { return (dv + blockColumns - 1) / blockColumns }

// advanceBlocks is advance for a chunk in which something is not finite, once U is there:
// those blocks of columns that it is in go token by token.
func (l *scan[T]) advanceBlocks(dst dense.Matrix[T], lo, hi int) {
	n := hi - lo
	keys := dense.Copy(rowsOf(&l.weighted, 0, n), rowsOf(&l.stack, 0, n))
	l.decays.weigh(keys, l.decays.down)
	for from := 0; from < l.dv; from += blockColumns {
		to := min(from+blockColumns, l.dv)
		if !finiteRows(l.u.Rows(n).ColRange(from, to)) {
			l.oneByOne(dst, lo, hi, from, to)
			continue
		}
		matmul.Pack(&l.packS, l.sums().ColRange(from, to))
		l.finish(dst, keys, lo, hi, from, to)
	}
}

// oneByOne takes in the tokens lo ≤ i < hi, which have been loaded, one after another, for the
// columns from ≤ e < to. Where something is not finite that must be: a product with a zero
// beyond the diagonal would take it to the rows before.
func (l *scan[T]) oneByOne(dst dense.Matrix[T], lo, hi, from, to int) {
	n := hi - lo
	keys, s := rowsOf(&l.stack, 0, n), l.sums().ColRange(from, to)
	for i := range n {
		var g []T
		if l.decays.width > 0 {
			g = l.x.Decay.Row(lo + i)
		}
		var out, query []T
		if l.group > 0 {
			out, query = l.token[:to-from], rowsOf(&l.stack, 1, n).Row(i)
		}
		l.writeToken(s, keys.Row(i), l.x.V.Row(lo + i)[from:to], g, l.betas[i], query, out)
		for head := range l.group {
			if head > 0 {
				l.readToken(s, rowsOf(&l.stack, 1+head, n).Row(i), out)
			}
			copy(l.outputs(dst, head, lo+i, lo+i+1).Row(0)[from:to], out)
		}
	}
}

// writeToken takes a token into the sums s, and sets out to what they then give its query, if
// there is one, which has the scale.
func (l *scan[T]) writeToken(s dense.Matrix[T], key, value, g []T, beta T, query, out []T) {
	u := l.token[l.dv:][:len(value)]
	if len(g) > 0 {
		factors := l.token[2*l.dv:][:len(g)]
		vecmath.Exp(factors, g)
		if len(g) == 1 {
			scaleRows(s, factors[0])
		} else {
			for f, a := range factors {
				vecmath.Scale(s.Row(f), a)
			}
		}
	}
	if l.r.opts.Rule.corrects() {
		clear(u)
		vecmath.SumRows(s.Data, s.Stride, key, u)
		vecmath.AffineEach(u, -1, value, 0)
		vecmath.Scale(u, beta)
	} else {
		copy(u, value)
	}
	if out == nil {
		for f, x := range key {
			vecmath.AddScaled(s.Row(f), u, x)
		}
		return
	}
	clear(out)
	vecmath.Outer(s.Data, s.Stride, key, query, u, out)
}

// readToken sets out to what the sums give a query, which has the scale.
func (l *scan[T]) readToken(s dense.Matrix[T], query, out []T) {
	clear(out)
	vecmath.SumRows(s.Data, s.Stride, query, out)
}
