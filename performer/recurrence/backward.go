package recurrence

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

func (r *recurrence[T]) Backward(dx Tokens[T], dpast dense.Matrix[T], x Tokens[T], past, dout, dpresent dense.Matrix[T]) Tokens[T] {
	dk, dv := r.check(x)
	r.checkQueries(x)
	sequences := sequencesOf(x)
	r.checkStates("past", past, sequences, dk, dv)
	r.checkStates("dpast", dpast, sequences, dk, dv)
	r.checkStates("dpresent", dpresent, sequences, dk, dv)
	dout.Check()
	if rows, cols := x.K.Rows, r.heads*dv; dout.Rows != rows || dout.Cols != cols {
		panic(fmt.Sprintf("recurrence: dout is %d×%d, q is %d×%d, v is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, x.Q.Rows, x.Q.Cols, x.V.Rows, x.V.Cols, rows, cols))
	}
	dx = Tokens[T]{
		Q: dense.Ensure(dx.Q, x.Q.Rows, x.Q.Cols), K: dense.Ensure(dx.K, x.K.Rows, x.K.Cols), V: dense.Ensure(dx.V, x.V.Rows, x.V.Cols),
		Decay: dense.Ensure(dx.Decay, x.Decay.Rows, x.Decay.Cols), Beta: dense.Ensure(dx.Beta, x.Beta.Rows, x.Beta.Cols),
		Lengths: x.Lengths,
	}
	c := r.gradients.Get()
	*c = backwardCall[T]{
		forwardCall: forwardCall[T]{
			r: r, x: x, dst: dout, past: past, present: dpresent, dk: dk, dv: dv,
			from: layout.Starts(c.from[:0], x.Lengths, x.K.Rows),
		},
		dx: dx, dpast: dpast, shared: c.shared, ofQueries: c.ofQueries, ofKeys: c.ofKeys,
	}
	heads := r.valueHeads
	if r.valueHeads > r.keyHeads {
		c.ofQueries.Shape(x.K.Rows, heads*dk)
		c.ofKeys.Shape(x.K.Rows, heads*dk)
	}
	if x.Beta.Cols == 1 && heads > 1 {
		c.shared.Shape(x.K.Rows, heads)
		c.dx.Beta = c.shared.Rows(x.K.Rows)
	}
	parallel.Do(sequences*heads, c)
	if x.Beta.Cols == 1 && heads > 1 {
		for i := range x.K.Rows {
			sum := T(0)
			for _, v := range c.dx.Beta.Row(i) {
				sum += v
			}
			dx.Beta.Row(i)[0] = sum
		}
	}
	if r.valueHeads > r.keyHeads {
		addHeads(dx.Q, c.ofQueries.Rows(x.K.Rows), r.keyHeads, r.valueHeads/r.keyHeads)
		addHeads(dx.K, c.ofKeys.Rows(x.K.Rows), r.keyHeads, r.valueHeads/r.keyHeads)
	}
	*c = backwardCall[T]{forwardCall: forwardCall[T]{from: c.from}, shared: c.shared, ofQueries: c.ofQueries, ofKeys: c.ofKeys}
	r.gradients.Put(c)
	return dx
}

// backwardCall is one call of Backward. The fields dst and present of its call hold dout and
// dpresent.
type backwardCall[T dense.Float] struct {
	forwardCall[T]
	dx     Tokens[T]
	dpast  dense.Matrix[T]
	shared scratch.Buffer[T] // gradients of a shared β, a column for each head

	// Gradients of shared queries and keys, a block of columns for each head of values.
	ofQueries, ofKeys scratch.Buffer[T]
}

func addHeads[T dense.Float](dst, x dense.Matrix[T], n, share int) {
	d := dst.Cols / n
	for i := range dst.Rows {
		for h := range n {
			sum, from := dst.Row(i)[h*d:][:d], x.Row(i)[h*share*d:]
			copy(sum, from)
			for s := 1; s < share; s++ {
				vecmath.AddScaled(sum, from[s*d:][:d], 1)
			}
		}
	}
}

func (c *backwardCall[T]) Piece(i int) {
	r := c.r
	sequence, head := i/r.valueHeads, i%r.valueHeads
	lo, hi := c.from[sequence], c.from[sequence+1]
	l := r.scans.Get()
	x := r.headOf(c.x, head, lo, hi)
	l.startBackward(r, x, c.dk, c.dv)
	l.setState(stateOf(c.past, i, c.dk))
	l.storeStates()
	l.gradient.setState(stateOf(c.present, i, c.dk))
	group := r.heads / r.valueHeads
	dx := r.headOf(c.dx, head, lo, hi)
	if r.valueHeads > r.keyHeads {
		dx.Q = layout.Head(c.ofQueries.Rows(hi).RowRange(lo, hi), head, r.valueHeads)
		dx.K = layout.Head(c.ofKeys.Rows(hi).RowRange(lo, hi), head, r.valueHeads)
	}
	l.backward(dx, layout.Heads(c.dst.RowRange(lo, hi), head*group, (head+1)*group, r.heads))
	if c.dpast.Rows > 0 {
		dense.Copy(stateOf(c.dpast, i, c.dk), l.gradient.state(c.dk, c.dv))
	}
	l.release()
	r.scans.Put(l)
}
