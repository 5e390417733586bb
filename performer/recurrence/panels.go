package recurrence

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/rankone"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// panels hold S of a scan as panels of columns that fit the first cache, one after another.
//
// In a scaled chunk, a chunk of tokens with a slow decay, S = e^exponent∘(older + newer). A token
// writes values times e^−exponent and reads S times e^exponent, so no factor e^g and no multiple of
// S is rounded for each token.
//
// In other chunks S = newer, and each token multiplies S by e^g. newer sums up the last tokens
// only, and older all tokens before, so that fewer rounding errors accumulate. The delta rules have
// no older.
type panels[T dense.Float] struct {
	newer, older []T
	exponent     []T // sums of the decays of the last tokens
	recent       int // the number of the last tokens
	scaled       bool

	pass            rankone.Pass[T]
	factors         []T // e^g, or e^exponent, of each token of a chunk
	inverses        []T // e^−exponent of each token of a chunk
	sumsOfDecays    []T
	reads           scratch.Buffer[T] // keys and queries of each head times factors, chunkRows each
	ones, scales    []T
	values, outputs []T // of the last panel, padded to the width of a panel
}

const (
	// foldTokens is the number of tokens after which fold adds newer to older.
	foldTokens = 5 * chunkRows
	// leastExponent is the least Σg of a scaled chunk, for each row of S. With a smaller Σg old
	// tokens soon vanish, and e^−Σg would be less accurate.
	leastExponent = -2
)

func (l *scan[T]) shapePanels() {
	p := &l.panels
	size, last := 0, 0
	for at := 0; at < l.dv; at += last {
		last = l.panelWidth(at)
		size += l.dk * last
	}
	p.newer = scratch.Resize(p.newer, size)
	p.recent, p.scaled = 0, true
	p.older = p.older[:0]
	if !l.r.opts.Rule.corrects() {
		p.older = scratch.Resize(p.older, size)
	}
	width := l.x.Decay.Cols
	p.exponent = scratch.Resize(p.exponent, width)
	clear(p.exponent)
	p.factors, p.inverses = scratch.Resize(p.factors, chunkRows*width), scratch.Resize(p.inverses, chunkRows*width)
	if width > 1 {
		p.reads.Shape((1+l.group)*chunkRows, l.dk)
	}
	p.ones, p.scales = scratch.Resize(p.ones, chunkRows), scratch.Resize(p.scales, chunkRows)
	layout.Fill(p.ones, 1)
	p.values, p.outputs = scratch.Resize(p.values, chunkRows*last), scratch.Resize(p.outputs, chunkRows*l.panelWidth(0)*max(l.group, 1))
	clear(p.values)
}

func (l *scan[T]) panelWidth(from int) int {
	return rankone.Columns[T](l.dk, l.dv-from, l.r.opts.Rule.corrects())
}

func (l *scan[T]) eachPanel(x []T, f func(panel []T, from, width, columns int)) {
	for from, width := 0, 0; from < l.dv; from += width {
		width = l.panelWidth(from)
		f(x[from*l.dk:][:width*l.dk], from, width, min(width, l.dv-from))
	}
}

func (l *scan[T]) setState(past dense.Matrix[T]) {
	l.shapePanels()
	p := &l.panels
	clear(p.newer)
	clear(p.older)
	if past.Rows == 0 {
		return
	}
	l.eachPanel(p.all(), func(panel []T, from, width, columns int) {
		for f := range l.dk {
			copy(panel[f*width:][:columns], past.Row(f)[from:])
		}
	})
}

func (p *panels[T]) all() []T {
	if p.scaled && len(p.older) > 0 {
		return p.older
	}
	return p.newer
}

func (l *scan[T]) copyState(dst dense.Matrix[T]) {
	l.fold()
	l.eachPanel(l.panels.all(), func(panel []T, from, width, columns int) {
		for f := range l.dk {
			copy(dst.Row(f)[from:], panel[f*width:][:columns])
		}
	})
}

// fold sets the exponent of scaled chunks to zero. S is then in older, with newer zero, or in newer
// if there is no older.
func (l *scan[T]) fold() {
	p := &l.panels
	if !p.scaled || p.recent == 0 {
		return
	}
	if len(p.older) > 0 {
		vecmath.AddScaled(p.older, p.newer, 1)
		clear(p.newer)
	}
	vecmath.Exp(p.exponent, p.exponent)
	switch s := p.all(); len(p.exponent) {
	case 0:
	case 1:
		vecmath.Scale(s, p.exponent[0])
	default:
		l.eachPanel(s, func(panel []T, from, width, columns int) {
			for f, a := range p.exponent {
				vecmath.Scale(panel[f*width:][:width], a)
			}
		})
	}
	clear(p.exponent)
	p.recent = 0
}

func (l *scan[T]) forward(dst dense.Matrix[T]) {
	for lo := 0; lo < l.x.K.Rows; lo += chunkRows {
		l.forwardChunk(dst, lo, min(lo+chunkRows, l.x.K.Rows))
	}
}

func (l *scan[T]) forwardChunk(dst dense.Matrix[T], lo, hi int) {
	n, p := hi-lo, &l.panels
	l.coefficients(dst, lo, hi)
	if dst.Cols > 0 {
		dst = dst.RowRange(lo, hi)
	}
	x, v := &p.pass, l.x.V.RowRange(lo, hi)
	// A pass without a correction reads values again after writing outputs.
	apart := same(dst.ColRange(min(l.from, dst.Cols), dst.Cols), v) && !l.r.opts.Rule.corrects()
	l.eachPanel(p.newer, func(panel []T, from, width, columns int) {
		x.S, x.Width = panel, width
		if len(p.older) > 0 {
			x.Older = p.older[from*l.dk:][:len(panel)]
		}
		x.V = v.ColRange(from, from+columns)
		if columns < width {
			x.V = dense.Of(n, width, p.values[:n*width])
			dense.Copy(x.V.ColRange(0, columns), v.ColRange(from, l.dv))
		}
		if dst.Cols > 0 && columns == width && !apart {
			x.Out, x.OutHead = dst.ColRange(l.from+from, dst.Cols), dst.Cols/l.group
			x.Take()
			return
		}
		x.Out, x.OutHead = dense.Of(x.Heads*n, width, p.outputs[:x.Heads*n*width]), n*width
		x.Take()
		if dst.Cols > 0 {
			for h := range l.group {
				dense.Copy(layout.Head(dst, h, l.group).ColRange(l.from+from, l.from+from+columns), x.Out.RowRange(h*n, (h+1)*n).ColRange(0, columns))
			}
		}
	})
	if p.recent += n; p.recent >= foldTokens || len(p.exponent) > 0 && slices.Min(p.exponent) < leastExponent {
		l.fold()
	}
}

// coefficients prepares the fields of the pass that all panels share, for the tokens lo ≤ i < hi.
// The pass reads the keys and queries of the caller if neither normalisation nor aliasing requires
// copies.
func (l *scan[T]) coefficients(dst dense.Matrix[T], lo, hi int) {
	n, p := hi-lo, &l.panels
	x := &p.pass
	*x = rankone.Pass[T]{Rows: l.dk, Heads: 1, Beta: p.ones[:n], Scale: p.scales[:n], Space: x.Space}
	layout.Fill(x.Scale, l.scale)
	// If outputs overwrite queries or keys, later panels must read copies.
	overwritten := same(dst, l.x.Q) || same(dst, l.x.K)
	if x.K = l.x.K.RowRange(lo, hi); overwritten || l.crowded(x.K) || l.r.opts.NormaliseKeys {
		x.K = l.keys(lo, hi)
	}
	if x.Q = x.K; dst.Cols > 0 {
		x.Q, x.QueryHead, x.Heads = l.x.Q.RowRange(lo, hi), l.dk, l.group
		if overwritten || l.crowded(x.Q) {
			for s := 1; s <= l.group; s++ {
				l.queries(s, lo, hi)
			}
			x.Q, x.QueryHead = headsOf(&l.stack, 1, 1+l.group)
		}
	}
	if l.r.opts.Rule.corrects() {
		x.Beta, x.Fade, x.Corrected = l.strengths(lo, hi), p.ones[:n], x.K
	}
	if l.x.Decay.Cols > 0 {
		l.setDecays(l.x.Decay.RowRange(lo, hi))
	}
}

// crowded reports whether rows of x are so far apart that rows of some tokens would evict each
// other from the first cache. The pass then reads copies.
func (l *scan[T]) crowded(x dense.Matrix[T]) bool {
	const rows = 3 * 4 // keys, keys times decays and queries of the four tokens of a kernel
	return l.r.opts.Rule.corrects() && cache.Crowded(rows, x.Stride*simd.Size[T]())
}

func headsOf[T dense.Float](b *scratch.Buffer[T], from, to int) (dense.Matrix[T], int) {
	m := b.Rows(to*chunkRows).RowRange(from*chunkRows, to*chunkRows)
	return m, chunkRows * m.Stride
}

func (l *scan[T]) setDecays(g dense.Matrix[T]) {
	p := &l.panels
	x, n, width := &p.pass, g.Rows, g.Cols
	factors := dense.Of(n, width, p.factors[:n*width])
	dense.Copy(factors, g)
	if scaled := p.canScale(factors); scaled != p.scaled {
		l.fold()
		if p.scaled, p.recent = scaled, 0; len(p.older) > 0 {
			p.newer, p.older = p.older, p.newer
		}
	}
	if p.scaled {
		l.scaleTokens(factors)
		return
	}
	vecmath.Exp(factors.Data, factors.Data)
	x.Decays = factors
	switch {
	case !l.r.opts.Rule.corrects():
	case width == 1:
		x.Fade = factors.Data
	default:
		x.Corrected = product(rowsOf(&p.reads, 0, n), x.K, factors)
	}
}

// canScale reports whether the decays g of a chunk are at most 0 and Σg is at least leastExponent.
func (p *panels[T]) canScale(g dense.Matrix[T]) bool {
	if vecmath.Peak(g.Data) > 0 {
		return false
	}
	p.sumsOfDecays = scratch.Resize(p.sumsOfDecays, g.Cols)
	clear(p.sumsOfDecays)
	for i := range g.Rows {
		addDecays(p.sumsOfDecays, g.Data[i*g.Cols:][:g.Cols])
	}
	for _, sum := range p.sumsOfDecays {
		if !(leastExponent <= sum && sum <= 0) {
			return false
		}
	}
	return true
}

// scaleTokens sets the pass to tokens times e^exponent and e^−exponent. With one decay per head the
// factors multiply values and outputs; with a decay per row of S they multiply keys and queries.
// scaleTokens overwrites the decays g.
func (l *scan[T]) scaleTokens(g dense.Matrix[T]) {
	p := &l.panels
	x, n := &p.pass, g.Rows
	inverses := dense.Of(n, g.Cols, p.inverses[:n*g.Cols])
	for i := range n {
		row := g.Data[i*g.Cols:][:g.Cols]
		addDecays(p.exponent, row)
		copy(row, p.exponent)
	}
	copy(inverses.Data, g.Data)
	vecmath.Scale(inverses.Data, -1)
	vecmath.Exp(inverses.Data, inverses.Data)
	vecmath.Exp(g.Data, g.Data)
	if g.Cols == 1 {
		vecmath.Multiply(inverses.Data, x.Beta)
		vecmath.Multiply(x.Scale, g.Data)
		x.Beta, x.Fade = inverses.Data, g.Data
		return
	}
	if l.r.opts.Rule.corrects() {
		x.Corrected = product(rowsOf(&p.reads, 0, n), x.K, g)
	}
	q, head := x.Q, x.QueryHead
	x.K = multiply(inverses, x.K)
	if x.Heads == 1 {
		x.Q = multiply(g, q)
		return
	}
	x.Q, x.QueryHead = headsOf(&p.reads, 1, 1+l.group)
	for h := range x.Heads {
		from := dense.Matrix[T]{Rows: n, Cols: l.dk, Data: q.Data[h*head:], Stride: q.Stride}
		product(rowsOf(&p.reads, 1+h, n), from, g)
	}
}

func addDecays[T dense.Float](sums, g []T) {
	if len(g) == 1 {
		sums[0] += g[0]
		return
	}
	vecmath.AddScaled(sums, g, 1)
}

func multiply[T dense.Float](factors, x dense.Matrix[T]) dense.Matrix[T] {
	for i := range factors.Rows {
		vecmath.Multiply(factors.Row(i), x.Row(i))
	}
	return factors
}

func product[T dense.Float](dst, x, factors dense.Matrix[T]) dense.Matrix[T] {
	for i := range dst.Rows {
		copy(dst.Row(i), x.Row(i))
	}
	return multiply(dst, factors)
}
