package recurrence

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// gradient is the memory of a scan in a backward pass. Most fields are gradients of the loss.
type gradient[T dense.Float] struct {
	states []T               // S before each chunk and after the last one
	s      []T               // of S
	m      scratch.Buffer[T] // I + diag(β)·M, then its factor; not a gradient
	e      scratch.Buffer[T] // E; not a gradient
	du     scratch.Buffer[T] // of U, then of the values
	stack  scratch.Buffer[T] // of the keys through e^−b∘keys, then of the queries of each head
	up     scratch.Buffer[T] // of the keys through e^b∘keys
	pairs  scratch.Buffer[T] // of M and P
	level  scratch.Buffer[T] // of the weighted stack of a level
	decay  []float64         // of b, summed from a token to the last
}

func (l *scan[T]) startBackward(r *recurrence[T], x Tokens[T], dk, dv int) {
	l.start(r, x, dk, dv)
	rows := (1 + l.group) * chunkRows
	l.s = scratch.Resize(l.s, dk*dv)
	l.weighted.Shape(rows, dk)
	l.pairs.Shape(rows, chunkRows)
	l.u.Shape(chunkRows, dv)
	l.decays.shape(x.Decay.Cols, chunkRows)
	v := &l.gradient
	v.states = scratch.Resize(v.states, (chunksOf(x.K.Rows)+1)*dk*dv)
	v.s = scratch.Resize(v.s, dk*dv)
	v.m.Shape(chunkRows, chunkRows)
	v.e.Shape(chunkRows, dv)
	v.du.Shape(chunkRows, dv)
	v.up.Shape(chunkRows, dk)
	v.stack.Shape(rows, dk)
	v.pairs.Shape(rows, chunkRows)
	if l.decays.width > 1 {
		v.level.Shape(rows, dk)
	}
	v.decay = scratch.Resize(v.decay, l.decays.width)
}

func chunksOf(n int) int { return (n + chunkRows - 1) / chunkRows }

func (v *gradient[T]) state(dk, dv int) dense.Matrix[T] { return dense.Of(dk, dv, v.s) }

func (v *gradient[T]) setState(last dense.Matrix[T]) {
	clear(v.s)
	for f := range last.Rows {
		copy(v.s[f*last.Cols:], last.Row(f))
	}
}

func (l *scan[T]) storeStates() {
	n := l.x.K.Rows
	l.copyState(l.stored(0))
	for chunk := range chunksOf(n) {
		l.forwardChunk(dense.Matrix[T]{}, chunk*chunkRows, min((chunk+1)*chunkRows, n))
		l.copyState(l.stored(chunk + 1))
	}
}

func (l *scan[T]) stored(chunk int) dense.Matrix[T] {
	size := l.dk * l.dv
	return dense.Of(l.dk, l.dv, l.gradient.states[chunk*size:][:size])
}

func (l *scan[T]) state() dense.Matrix[T] { return dense.Of(l.dk, l.dv, l.s) }

func (l *scan[T]) backward(dx Tokens[T], dout dense.Matrix[T]) {
	n := l.x.K.Rows
	for chunk := chunksOf(n) - 1; chunk >= 0; chunk-- {
		lo, hi := chunk*chunkRows, min((chunk+1)*chunkRows, n)
		copy(l.s, l.stored(chunk).Data)
		l.backwardChunk(rowRange(dx, lo, hi), dout.RowRange(lo, hi), l.stored(chunk+1), lo, hi)
	}
}

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

// Row i of U is v_i, or β_i·e_i for a delta rule, where (I + M·diag(β))·E = V − (e^b∘K)·S. A delta
// rule copies E to gradient.e and overwrites M.
func (l *scan[T]) computeU(lo, hi int) {
	n := hi - lo
	u := dense.Copy(l.u.Rows(n), l.x.V.RowRange(lo, hi))
	if !l.r.opts.Rule.corrects() {
		return
	}
	matmul.MulPacked(-1, l.weighed(0, n), &l.packS, 1, u, nil)
	m := l.pair(0, n)
	for i := range n {
		vecmath.Multiply(m.Row(i)[:i], l.betas)
	}
	l.factor.Set(m, nil)
	l.factor.Solve(u)
	dense.Copy(l.gradient.e.Rows(n), u)
	for i := range n {
		vecmath.Scale(u.Row(i), l.betas[i])
	}
}

// weighed returns e^b∘keys for s = 0, and e^b∘queries of head s − 1 otherwise.
func (l *scan[T]) weighed(s, n int) dense.Matrix[T] {
	x := rowsOf(&l.stack, s, n)
	if l.decays.width == 0 {
		return x
	}
	w := dense.Copy(rowsOf(&l.weighted, s, n), x)
	l.decays.weigh(w, l.decays.up)
	return w
}

// backwardChunk writes the gradients of the tokens lo ≤ i < hi to dx. after is S after these
// tokens.
//
// With the gradients dO of the outputs and dS′ of S after the chunk, dU = Σ PᵀdO + (e^(b_{n−1} −
// b)∘K)·dS′. For a delta rule (I + diag(β)·M)ᵀ·Y = dU gives dβ_i = e_i·y_i. With Z = β∘Y, dV = Z
// and dM = −tril(ZUᵀ, −1), and V − (e^b∘K)·S passes Z on to keys and S.
func (l *scan[T]) backwardChunk(dx Tokens[T], dout, after dense.Matrix[T], lo, hi int) {
	n, v := hi-lo, &l.gradient
	corrects := l.r.opts.Rule.corrects()
	l.load(lo, hi)
	matmul.Pack(&l.packS, l.state())
	l.computePairs(n)
	if corrects {
		dense.Copy(v.m.Rows(n).ColRange(0, n), l.pair(0, n))
	}
	l.computeU(lo, hi)
	u := l.u.Rows(n)

	s, ds, keys := l.state(), v.state(l.dk, l.dv), rowsOf(&l.stack, 0, n)
	du, down, up := v.du.Rows(n), rowsOf(&v.stack, 0, n), v.up.Rows(n)
	weighted := dense.Copy(rowsOf(&l.weighted, 0, n), keys)
	l.decays.weigh(weighted, l.decays.down)
	matmul.Mul(1, weighted, ds, 0, du)
	matmul.MulT(1, u, ds, 0, down)
	l.decays.weigh(down, l.decays.down)
	v.startDecay(after)
	l.decays.weighState(ds)
	for h := 1; h <= l.group; h++ {
		g := layout.Head(dout, h-1, l.group)
		dq := rowsOf(&v.stack, h, n)
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
	l.backwardStack(dx, n)
}

func (l *scan[T]) pairGradient(s, n int) dense.Matrix[T] {
	return rowsOf(&l.gradient.pairs, s, n).ColRange(0, n)
}

func (l *scan[T]) backwardErrors(dbeta, u dense.Matrix[T], n int) {
	v := &l.gradient
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
	matmul.MulT(-1, du, l.state(), 0, v.up.Rows(n))
	l.decays.weigh(v.up.Rows(n), l.decays.up)
	matmul.TMul(-1, l.weighed(0, n), du, 1, v.state(l.dk, l.dv))
	g := l.pairGradient(0, n)
	matmul.MulT(-1, du, u, 0, g)
	for i := range n {
		g.Row(i)[i] = 0
	}
}

// startDecay sets the gradient of b to the part of the last token, which multiplies every summand
// of after, S after the chunk.
func (v *gradient[T]) startDecay(after dense.Matrix[T]) {
	clear(v.decay)
	if len(v.decay) == 0 {
		return
	}
	for f := range after.Rows {
		v.decay[f%len(v.decay)] += float64(vecmath.Dot(after.Row(f), v.s[f*after.Cols:]))
	}
}

// backwardDecays writes the gradients of decays, dg_t = Σ_{i≥t} db_i. A factor e^b_i adds its
// product with its gradient to db_i, and a factor e^−b_i subtracts it.
func (l *scan[T]) backwardDecays(dg dense.Matrix[T], n int) {
	v, w := &l.gradient, l.decays.width
	if w == 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		for s := 0; s <= l.group; s++ {
			x, dx := rowsOf(&l.stack, s, n).Row(i), rowsOf(&v.stack, s, n).Row(i)
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

func (v *gradient[T]) addDecay(x, dx []T, sign float64) {
	if len(v.decay) == 1 {
		v.decay[0] += sign * float64(vecmath.Dot(x, dx))
		return
	}
	dx = dx[:len(v.decay)]
	for c := range v.decay {
		v.decay[c] += sign * float64(x[c]) * float64(dx[c])
	}
}

func (l *scan[T]) backwardStack(dx Tokens[T], n int) {
	v := &l.gradient
	dk, keys := rowsOf(&v.stack, 0, n), rowsOf(&l.stack, 0, n)
	for i := range n {
		d, x := dk.Row(i), keys.Row(i)
		vecmath.AddScaled(d, v.up.Rows(n).Row(i), 1)
		if l.r.opts.NormaliseKeys {
			vecmath.AddScaled(d, x, -vecmath.Dot(x, d))
			vecmath.Scale(d, l.norms[i])
		}
	}
	dense.Copy(dx.K, dk)
	for h := 1; h <= l.group; h++ {
		dq := rowsOf(&v.stack, h, n)
		scaleRows(dq, l.scale)
		dense.Copy(layout.Head(dx.Q, h-1, l.group), dq)
	}
}
