package recurrence

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

func (r *recurrence[T]) Backward(dx Tokens[T], dpast dense.Matrix[T], x Tokens[T], past, dout, dpresent dense.Matrix[T]) Tokens[T] {
	if err := r.CanBackward(); err != nil {
		panic(err.Error())
	}
	dk, dv := r.check(x)
	r.checkQueries(x)
	sequences := sequencesOf(x)
	r.checkSums("past", past, sequences, dk, dv)
	r.checkSums("dpast", dpast, sequences, dk, dv)
	r.checkSums("dpresent", dpresent, sequences, dk, dv)
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
	*c = reverseCall[T]{
		call: call[T]{
			r: r, x: x, dst: dout, past: past, present: dpresent, dk: dk, dv: dv,
			from: layout.Starts(c.from[:0], x.Lengths, x.K.Rows),
		},
		dx: dx, dpast: dpast, shared: c.shared,
	}
	heads := r.keyHeads
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
	*c = reverseCall[T]{call: call[T]{from: c.from}, shared: c.shared}
	r.gradients.Put(c)
	return dx
}

func (r *recurrence[T]) CanBackward() error {
	if r.query == nil {
		return nil
	}
	for i, m := range []rff.Map[T]{r.query, r.key} {
		name := []string{"queries", "keys"}[i]
		d, ok := m.(rff.Differentiable[T])
		if !ok {
			return fmt.Errorf("recurrence: the map of %s is a %T, which has no derivatives", name, m)
		}
		if err := d.CanBackward(); err != nil {
			return fmt.Errorf("recurrence: the map of %s: %w", name, err)
		}
	}
	return nil
}

// reverseCall is the task of one call of Backward, whose dst and present are dout and dpresent.
type reverseCall[T dense.Float] struct {
	call[T]
	dx     Tokens[T]
	dpast  dense.Matrix[T]
	shared scratch.Buffer[T] // gradients of a shared β, a column a head
}

func (c *reverseCall[T]) Piece(i int) {
	r := c.r
	sequence, head := i/r.keyHeads, i%r.keyHeads
	lo, hi := c.from[sequence], c.from[sequence+1]
	l := r.scans.Get()
	x := r.headOf(c.x, head, lo, hi)
	l.startReverse(r, x, c.dk, c.dv)
	l.setSums(sumsOf(c.past, i, c.dk))
	l.keepSums()
	l.reverse.setSums(sumsOf(c.present, i, c.dk))
	group := r.heads / r.keyHeads
	l.backward(r.headOf(c.dx, head, lo, hi), layout.Heads(c.dst.RowRange(lo, hi), head*group, (head+1)*group, r.heads))
	if c.dpast.Rows > 0 {
		dense.Copy(sumsOf(c.dpast, i, c.dk), l.reverse.sums(c.dk, c.dv))
	}
	l.forget()
	r.scans.Put(l)
}
