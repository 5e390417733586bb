package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// reverse is the memory of a scan on its way back.
type reverse[T dense.Float] struct {
	kept  []T               // the sums before each chunk, and after the last
	sum   []T               // the gradient with respect to S
	m     scratch.Buffer[T] // I + diag(β)·M, then its factor
	e     scratch.Buffer[T] // E
	du    scratch.Buffer[T] // the gradient with respect to U, then with respect to the values
	dx    scratch.Buffer[T] // those with respect to keys, as far as they are multiplied by e^−b, and queries
	up    scratch.Buffer[T] // that with respect to keys, as far as they are multiplied by e^b
	pairs scratch.Buffer[T] // those with respect to M and P
	level scratch.Buffer[T] // those with respect to the stack times the factors of a level
	decay []float64         // the sum of those with respect to b from a token on
}

// startReverse prepares for keepSums, and for what follows it.
func (l *scan[T]) startReverse(r *recurrence[T], x Tokens[T], dk, dv int) {
	l.start(r, x, dk, dv)
	rows := (1 + l.group) * chunkRows
	l.sum = scratch.Resize(l.sum, dk*dv)
	l.weighted.Shape(rows, dk)
	l.pairs.Shape(rows, chunkRows)
	l.u.Shape(chunkRows, dv)
	l.decays.shape(x.Decay.Cols, chunkRows)
	v := &l.reverse
	v.kept = scratch.Resize(v.kept, (chunksOf(x.K.Rows)+1)*dk*dv)
	v.sum = scratch.Resize(v.sum, dk*dv)
	v.m.Shape(chunkRows, chunkRows)
	v.e.Shape(chunkRows, dv)
	v.du.Shape(chunkRows, dv)
	v.up.Shape(chunkRows, dk)
	v.dx.Shape(rows, dk)
	v.pairs.Shape(rows, chunkRows)
	if l.decays.width > 1 {
		v.level.Shape(rows, dk)
	}
	v.decay = scratch.Resize(v.decay, l.decays.width)
}

// chunksOf returns the number of chunks of n tokens.
func chunksOf(n int) int { return (n + chunkRows - 1) / chunkRows }

// sums returns the gradient with respect to S.
func (v *reverse[T]) sums(dk, dv int) dense.Matrix[T] { return dense.Of(dk, dv, v.sum) }

// setSums makes it that of the sums at the end.
func (v *reverse[T]) setSums(last dense.Matrix[T]) {
	clear(v.sum)
	for f := range last.Rows {
		copy(v.sum[f*last.Cols:], last.Row(f))
	}
}

// keepSums takes in all tokens and keeps the sums before each chunk, and after the last.
func (l *scan[T]) keepSums() {
	n := l.x.K.Rows
	l.copySums(l.keptSums(0))
	for chunk := range chunksOf(n) {
		l.take(dense.Matrix[T]{}, chunk*chunkRows, min((chunk+1)*chunkRows, n))
		l.copySums(l.keptSums(chunk + 1))
	}
}

// keptSums returns the sums before a chunk.
func (l *scan[T]) keptSums(chunk int) dense.Matrix[T] {
	size := l.dk * l.dv
	return dense.Of(l.dk, l.dv, l.reverse.kept[chunk*size:][:size])
}

// sums returns S before the chunk.
func (l *scan[T]) sums() dense.Matrix[T] { return dense.Of(l.dk, l.dv, l.sum) }

// backward writes the gradients with respect to all tokens into dx, and takes that with
// respect to S from the end to the beginning.
func (l *scan[T]) backward(dx Tokens[T], dout dense.Matrix[T]) {
	n := l.x.K.Rows
	for chunk := chunksOf(n) - 1; chunk >= 0; chunk-- {
		lo, hi := chunk*chunkRows, min((chunk+1)*chunkRows, n)
		copy(l.sum, l.keptSums(chunk).Data)
		l.backwardChunk(rowRange(dx, lo, hi), dout.RowRange(lo, hi), l.keptSums(chunk+1), lo, hi)
	}
}

// load takes the tokens lo ≤ i < hi: keys, and queries times the scale, into the stack, decays and
// strengths.
func (l *scan[T]) load(lo, hi int) {
	l.keys(lo, hi)
	for s := 1; s <= l.group; s++ {
		scaleRows(l.queries(s, lo, hi), l.scale)
	}
	if l.decays.width > 0 {
		l.decays.fill(l.x.Decay.RowRange(lo, hi))
	}
	l.strengths(lo, hi)
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

// backwardChunk writes the gradients of the tokens lo ≤ i < hi. after are the sums after them.
//
// With dO and dS′ of the outputs and the sums after the chunk, dU = Σ PᵀdO + (e^(b_{n−1} −
// b)∘K)·dS′. Where the chunk writes E, (I + diag(β)·M)ᵀ·Y = dU gives dβ_i = e_i·y_i and, with Z =
// β∘Y, dV = Z, dM = −tril(ZUᵀ, −1) and what V − (e^b∘K)·S passes on to keys and S.
func (l *scan[T]) backwardChunk(dx Tokens[T], dout, after dense.Matrix[T], lo, hi int) {
	n, v := hi-lo, &l.reverse
	corrects := l.r.opts.Rule.corrects()
	l.load(lo, hi)
	matmul.Pack(&l.packS, l.sums())
	l.allPairs(n)
	if corrects {
		dense.Copy(v.m.Rows(n).ColRange(0, n), l.pair(0, n))
	}
	l.write(lo, hi, v.e.Rows(n))
	u := l.u.Rows(n)

	s, ds, keys := l.sums(), v.sums(l.dk, l.dv), rowsOf(&l.stack, 0, n)
	du, down, up := v.du.Rows(n), rowsOf(&v.dx, 0, n), v.up.Rows(n)
	weighted := dense.Copy(rowsOf(&l.weighted, 0, n), keys)
	l.decays.weigh(weighted, l.decays.down)
	matmul.Mul(1, weighted, ds, 0, du)
	matmul.MulT(1, u, ds, 0, down)
	l.decays.weigh(down, l.decays.down)
	v.takeDecay(after, l.decays.width)
	l.decays.weighSums(ds)
	for h := 1; h <= l.group; h++ {
		g := layout.Head(dout, h-1, l.group)
		dq := rowsOf(&v.dx, h, n)
		matmul.TMul(1, l.pair(h, n), g, 1, du)
		matmul.MulT(1, g, s, 0, dq)
		l.decays.weigh(dq, l.decays.up)
		matmul.MulT(1, g, u, 0, l.pairGradient(h, n))
		matmul.TMul(1, l.weighed(h, n), g, 1, ds)
	}
	clear(up.Data)
	if corrects {
		l.backwardErrors(dx.Beta, u, n)
	}
	l.backwardPairs(n)
	dense.Copy(dx.V, du)
	l.backwardDecays(dx.Decay, n)
	l.backwardStack(dx, lo, hi)
}

// pairGradient returns the gradient with respect to M, s = 0, or P of head s − 1.
func (l *scan[T]) pairGradient(s, n int) dense.Matrix[T] {
	return rowsOf(&l.reverse.pairs, s, n).ColRange(0, n)
}

// backwardErrors turns dU into Z, writes dβ, and passes on what M, keys and S get.
func (l *scan[T]) backwardErrors(dbeta, u dense.Matrix[T], n int) {
	v := &l.reverse
	m, du := v.m.Rows(n).ColRange(0, n), v.du.Rows(n)
	for i := range n {
		vecmath.Scale(m.Row(i)[:i], l.betas[i])
	}
	l.factor.Set(m, nil)
	l.factor.SolveTransposed(du)
	for i := range n {
		dbeta.Row(i)[0] = vecmath.Dot(v.e.Rows(n).Row(i), du.Row(i))
		vecmath.Scale(du.Row(i), l.betas[i])
	}
	matmul.MulT(-1, du, l.sums(), 0, v.up.Rows(n))
	l.decays.weigh(v.up.Rows(n), l.decays.up)
	matmul.TMul(-1, l.weighed(0, n), du, 1, v.sums(l.dk, l.dv))
	g := l.pairGradient(0, n)
	matmul.MulT(-1, du, u, 0, g)
	for i := range n {
		g.Row(i)[i] = 0
	}
}

// takeDecay starts the gradient with respect to b at the last token, which the sums after
// it have as a factor of them all.
func (v *reverse[T]) takeDecay(after dense.Matrix[T], width int) {
	clear(v.decay)
	if width == 0 {
		return
	}
	for f := range after.Rows {
		v.decay[f%width] += float64(vecmath.Dot(after.Row(f), v.sum[f*after.Cols:]))
	}
}

// backwardDecays writes the gradients with respect to decays: g_t is in every b_i with i ≥ t.
// What is multiplied by e^b_i, or by e^−b_i, gives b_i its product with its gradient.
func (l *scan[T]) backwardDecays(dg dense.Matrix[T], n int) {
	v, w := &l.reverse, l.decays.width
	if w == 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		for s := 0; s <= l.group; s++ {
			x, dx := rowsOf(&l.stack, s, n).Row(i), rowsOf(&v.dx, s, n).Row(i)
			if s > 0 {
				v.addDecay(x, dx, 1)
				continue
			}
			v.addDecay(x, v.up.Rows(n).Row(i), 1)
			v.addDecay(x, dx, -1)
		}
		for c := range dg.Row(i) {
			dg.Row(i)[c] = T(v.decay[c])
		}
	}
}

// addDecay adds sign·x∘dx, or its sum, to the gradient with respect to b.
func (v *reverse[T]) addDecay(x, dx []T, sign float64) {
	if len(v.decay) == 1 {
		v.decay[0] += sign * float64(vecmath.Dot(x, dx))
		return
	}
	dx = dx[:len(v.decay)]
	for c := range v.decay {
		v.decay[c] += sign * float64(x[c]) * float64(dx[c])
	}
}

// backwardStack takes the gradients with respect to keys and queries back to what they were
// before they were normalised, scaled and mapped.
func (l *scan[T]) backwardStack(dx Tokens[T], lo, hi int) {
	n, v := hi-lo, &l.reverse
	dk, keys := rowsOf(&v.dx, 0, n), rowsOf(&l.stack, 0, n)
	for i := range n {
		d, x := dk.Row(i), keys.Row(i)
		vecmath.AddScaled(d, v.up.Rows(n).Row(i), 1)
		if l.r.opts.NormaliseKeys {
			vecmath.AddScaled(d, x, -vecmath.Dot(x, d))
			vecmath.Scale(d, l.norms[i])
		}
	}
	transformBack(l.r.key, dx.K, l.x.K.RowRange(lo, hi), dk)
	for h := 1; h <= l.group; h++ {
		dq := rowsOf(&v.dx, h, n)
		scaleRows(dq, l.scale)
		transformBack(l.r.query, layout.Head(dx.Q, h-1, l.group), layout.Head(l.x.Q.RowRange(lo, hi), h-1, l.group), dq)
	}
}

// transformBack writes the gradient with respect to x, where that with respect to its
// features, or x itself without a map, is dphi.
func transformBack[T dense.Float](m rff.Map[T], dst, x, dphi dense.Matrix[T]) {
	if m == nil {
		dense.Copy(dst, dphi)
	} else {
		m.(rff.Differentiable[T]).Backward(dst, x, dphi)
	}
}
