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

// panels are the sums S of a scan on their way through the tokens: panels of columns that fit the
// first cache, one after another, each without gaps.
type panels[T dense.Float] struct {
	sums []T

	// In a chunk that is patient S = e^since∘(older + sums), and tokens are written times e^−since and
	// read times e^since: S forgets slowly, and each rounding of S or of a factor e^g would last. In
	// other chunks sums are S. The rules that do not correct remember rounding errors too. For those
	// sums are only of the last tokens; the others have no older, which stands for zero.
	older   []T
	since   []T // sums of the decays of the last tokens
	recent  int // the number of the last tokens
	patient bool

	pass            rankone.Pass[T]
	factors         []T // e^g or e^since of a chunk
	inverses        []T // e^−since
	sumsOfDecays    []T
	reads           scratch.Buffer[T] // keys, then the queries of each head, times factors: chunkRows rows each
	ones, scales    []T
	values, outputs []T // of the last panel, if it is wider than what is left
}

const (
	// foldTokens is the number of tokens after which the sums join the older ones.
	foldTokens = 5 * chunkRows
	// patience is the largest −Σg of a patient chunk, for each row of S. A larger one forgets within
	// few tokens, and its e^−since would be less exact.
	patience = 2
)

// shape prepares the panels of the scan.
func (l *scan[T]) shape() {
	p := &l.panels
	size, last := 0, 0
	for at := 0; at < l.dv; at += last {
		last = l.panelWidth(at)
		size += l.dk * last
	}
	p.sums = scratch.Resize(p.sums, size)
	p.recent, p.patient = 0, true
	p.older = p.older[:0]
	if !l.r.opts.Rule.corrects() {
		p.older = scratch.Resize(p.older, size)
	}
	width := l.x.Decay.Cols
	p.since = scratch.Resize(p.since, width)
	clear(p.since)
	p.factors, p.inverses = scratch.Resize(p.factors, chunkRows*width), scratch.Resize(p.inverses, chunkRows*width)
	if width > 1 {
		p.reads.Shape((1+l.group)*chunkRows, l.dk)
	}
	p.ones, p.scales = scratch.Resize(p.ones, chunkRows), scratch.Resize(p.scales, chunkRows)
	for i := range p.ones {
		p.ones[i] = 1
	}
	p.values, p.outputs = scratch.Resize(p.values, chunkRows*last), scratch.Resize(p.outputs, chunkRows*l.panelWidth(0)*max(l.group, 1))
	clear(p.values)
}

// panelWidth returns the width of the panel that begins with a column.
func (l *scan[T]) panelWidth(from int) int {
	return rankone.Columns[T](l.dk, l.dv-from, l.r.opts.Rule.corrects())
}

// eachPanel calls f for the panels of x: the first column, the width of the panel, and how many
// columns are in S.
func (l *scan[T]) eachPanel(x []T, f func(panel []T, from, width, columns int)) {
	for from, width := 0, 0; from < l.dv; from += width {
		width = l.panelWidth(from)
		f(x[from*l.dk:][:width*l.dk], from, width, min(width, l.dv-from))
	}
}

// setSums makes S a copy of past, or zeros of nothing.
func (l *scan[T]) setSums(past dense.Matrix[T]) {
	l.shape()
	p := &l.panels
	clear(p.sums)
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

// all returns the memory of S where nothing is in the other.
func (p *panels[T]) all() []T {
	if p.patient && len(p.older) > 0 {
		return p.older
	}
	return p.sums
}

// copySums copies S to dst.
func (l *scan[T]) copySums(dst dense.Matrix[T]) {
	l.fold()
	l.eachPanel(l.panels.all(), func(panel []T, from, width, columns int) {
		for f := range l.dk {
			copy(dst.Row(f)[from:], panel[f*width:][:columns])
		}
	})
}

// fold makes since zero, the older sums S and the sums zero, or the sums S if there are no older
// ones, where chunks are patient.
func (l *scan[T]) fold() {
	p := &l.panels
	if !p.patient || p.recent == 0 {
		return
	}
	if len(p.older) > 0 {
		vecmath.AddScaled(p.older, p.sums, 1)
		clear(p.sums)
	}
	vecmath.Exp(p.since, p.since)
	switch s := p.all(); len(p.since) {
	case 0:
	case 1:
		vecmath.Scale(s, p.since[0])
	default:
		l.eachPanel(s, func(panel []T, from, width, columns int) {
			for f, a := range p.since {
				vecmath.Scale(panel[f*width:][:width], a)
			}
		})
	}
	clear(p.since)
	p.recent = 0
}

// forward takes in all tokens and writes the outputs into dst, if that has columns.
func (l *scan[T]) forward(dst dense.Matrix[T]) {
	for lo := 0; lo < l.x.K.Rows; lo += chunkRows {
		l.take(dst, lo, min(lo+chunkRows, l.x.K.Rows))
	}
}

// take is forward for the chunk of the tokens lo ≤ i < hi.
func (l *scan[T]) take(dst dense.Matrix[T], lo, hi int) {
	n, p := hi-lo, &l.panels
	l.coefficients(dst, lo, hi)
	if dst.Cols > 0 {
		dst = dst.RowRange(lo, hi)
	}
	x, v := &p.pass, l.x.V.RowRange(lo, hi)
	// Outputs are apart from values unless all rows of S go at once.
	apart := same(dst.ColRange(min(l.from, dst.Cols), dst.Cols), v) && !l.r.opts.Rule.corrects()
	l.eachPanel(p.sums, func(panel []T, from, width, columns int) {
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
	if p.recent += n; p.recent >= foldTokens || len(p.since) > 0 && slices.Min(p.since) < -patience {
		l.fold()
	}
}

// coefficients prepares the pass of the tokens lo ≤ i < hi, as far as all panels share it. Keys and
// queries are where the caller has them, if they enter the recurrence as they are.
func (l *scan[T]) coefficients(dst dense.Matrix[T], lo, hi int) {
	n, p := hi-lo, &l.panels
	x := &p.pass
	*x = rankone.Pass[T]{Rows: l.dk, Heads: 1, Beta: p.ones[:n], Scale: p.scales[:n], Space: x.Space}
	for i := range x.Scale {
		x.Scale[i] = l.scale
	}
	// Outputs over queries or keys must not be followed by a panel that reads these.
	moved := same(dst, l.x.Q) || same(dst, l.x.K)
	if x.K = l.x.K.RowRange(lo, hi); moved || l.crowded(x.K) || l.r.key != nil || l.r.opts.NormaliseKeys {
		x.K = l.keys(lo, hi)
	}
	if x.Q = x.K; dst.Cols > 0 {
		x.Q, x.QueryHead, x.Heads = l.x.Q.RowRange(lo, hi), l.dk, l.group
		if moved || l.crowded(x.Q) || l.r.query != nil {
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
		l.fade(l.x.Decay.RowRange(lo, hi))
	}
}

// crowded reports whether rows of a head among many are copied, so that those of some tokens do not put
// each other out of the first cache. The kernels of AVX2 read them more often, for fewer columns of S at a
// time.
func (l *scan[T]) crowded(x dense.Matrix[T]) bool {
	rows := 3 * 4 // keys, keys times decays and queries of the tokens that a kernel takes together
	if simd.Best == simd.AVX2 {
		rows *= 2
	}
	return l.r.opts.Rule.corrects() && cache.Crowded(rows, x.Stride*simd.Size[T]())
}

// headsOf returns rows of a buffer with chunkRows rows a head, those of the heads from ≤ h < to, and
// the number of elements from one head to the next.
func headsOf[T dense.Float](b *scratch.Buffer[T], from, to int) (dense.Matrix[T], int) {
	m := b.Rows(to*chunkRows).RowRange(from*chunkRows, to*chunkRows)
	return m, chunkRows * m.Stride
}

// fade gives the pass the decays g of a chunk.
func (l *scan[T]) fade(g dense.Matrix[T]) {
	p := &l.panels
	x, n, width := &p.pass, g.Rows, g.Cols
	factors := dense.Of(n, width, p.factors[:n*width])
	dense.Copy(factors, g)
	if patient := p.isPatient(factors); patient != p.patient {
		l.fold()
		if p.patient, p.recent = patient, 0; len(p.older) > 0 {
			p.sums, p.older = p.older, p.sums
		}
	}
	if p.patient {
		l.fadePatiently(factors)
		return
	}
	vecmath.Exp(factors.Data, factors.Data)
	x.Decays = factors
	switch {
	case !l.r.opts.Rule.corrects():
	case width == 1:
		x.Fade = factors.Data
	default:
		x.Corrected = weighed(rowsOf(&p.reads, 0, n), x.K, factors)
	}
}

// isPatient reports whether a chunk with decays g forgets slowly. NaN and a positive decay do not.
func (p *panels[T]) isPatient(g dense.Matrix[T]) bool {
	if vecmath.Peak(g.Data) > 0 {
		return false
	}
	p.sumsOfDecays = scratch.Resize(p.sumsOfDecays, g.Cols)
	clear(p.sumsOfDecays)
	for i := range g.Rows {
		addDecays(p.sumsOfDecays, g.Data[i*g.Cols:][:g.Cols])
	}
	for _, sum := range p.sumsOfDecays {
		if !(-patience <= sum && sum <= 0) {
			return false
		}
	}
	return true
}

// fadePatiently replaces decays g by factors of tokens: those of a head go with values and outputs,
// those of rows with keys and queries.
func (l *scan[T]) fadePatiently(g dense.Matrix[T]) {
	p := &l.panels
	x, n := &p.pass, g.Rows
	inverses := dense.Of(n, g.Cols, p.inverses[:n*g.Cols])
	for i := range n {
		row := g.Data[i*g.Cols:][:g.Cols]
		addDecays(p.since, row)
		copy(row, p.since)
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
		x.Corrected = weighed(rowsOf(&p.reads, 0, n), x.K, g)
	}
	q, head := x.Q, x.QueryHead
	x.K = weigh(inverses, x.K)
	if x.Heads == 1 {
		x.Q = weigh(g, q)
		return
	}
	x.Q, x.QueryHead = headsOf(&p.reads, 1, 1+l.group)
	for h := range x.Heads {
		from := dense.Matrix[T]{Rows: n, Cols: l.dk, Data: q.Data[h*head:], Stride: q.Stride}
		weighed(rowsOf(&p.reads, 1+h, n), from, g)
	}
}

// addDecays adds the decays of a token to sums.
func addDecays[T dense.Float](sums, g []T) {
	if len(g) == 1 {
		sums[0] += g[0]
		return
	}
	vecmath.AddScaled(sums, g, 1)
}

// weigh replaces factors by x∘factors, which it returns.
func weigh[T dense.Float](factors, x dense.Matrix[T]) dense.Matrix[T] {
	for i := range factors.Rows {
		vecmath.Multiply(factors.Row(i), x.Row(i))
	}
	return factors
}

// weighed writes x∘factors into dst, which it returns.
func weighed[T dense.Float](dst, x, factors dense.Matrix[T]) dense.Matrix[T] {
	for i := range dst.Rows {
		copy(dst.Row(i), x.Row(i))
	}
	return weigh(dst, factors)
}
