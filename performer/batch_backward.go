package performer

import (
	"fmt"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// Backward is BackwardSequences of one sequence, all of whose keys count.
func (b *Batch[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return b.BackwardSequences(dq, dk, dv, q, k, v, dout, Sequences{})
}

// BackwardSequences writes the gradients of L = Σ_ic dout_ic·out_ic, where out (Lq×H·dv) is what
// ForwardSequences makes of q (Lq×H·d), k (Lk×Hk·d) and v (Lk×Hk·dv) in such sequences, with
// respect to q, k and v into dq, dk and dv, and returns them; a zero one is allocated. The gradient
// of a head of keys and values is the sum of what the heads of queries that read it give, in a
// fixed order.
//
// Gradients of keys and values that do not count, or that no query sees, are exactly zero, and so
// are those of queries that see no key. A query in a head where its row of dout is zero in every
// element has the gradient zero too, and gives nothing, whatever it holds. So where dout is zero in
// padding, neither what padding holds nor how much of it there is changes one bit of the gradients
// of valid tokens. A form that is not of this package gets all rows as they are.
//
// Where all rows count, dq and, if there is a head of keys for every head of queries, dk and dv
// have the bits that Backward of the form gives for the views. Heads of keys and sequences are
// shared among GOMAXPROCS processors as in Forward, and bits do not depend on that. Beyond what the
// forms need it holds copies of the rows that count where they do not follow one another, of the
// queries of a group where a form takes them together, and the gradients of a head of keys where it
// does not. It allocates nothing once that memory is there, if the forms do not.
//
// dq, dk and dv must not overlap each other nor an input. BackwardSequences panics with the shapes
// if they do not fit, with the text of CanBackward if that is an error, and as ForwardSequences
// does for forms that are not of this package.
func (b *Batch[T]) BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T]) {
	if err := b.CanBackward(); err != nil {
		panic(err.Error())
	}
	b.check(q, k, v)
	s.check(q.Rows, k.Rows)
	dout.Check()
	if width := v.Cols / b.keyHeads * b.heads; dout.Rows != q.Rows || dout.Cols != width {
		panic(fmt.Sprintf("performer: dout is %d×%d, q is %d×%d, v is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, v.Rows, v.Cols, q.Rows, width))
	}
	g := gradients[T]{
		dense.Ensure(dq, q.Rows, q.Cols), dense.Ensure(dk, k.Rows, k.Cols), dense.Ensure(dv, v.Rows, v.Cols),
		q, k, v, dout,
	}
	b.run(batched[T]{gradients: g, s: s, backward: true, pieces: b.keyHeads})
	return g.dq, g.dk, g.dv
}

// CanBackward returns nil if all forms are Differentiable and can be differentiated, and an error
// that says why the first of the others cannot otherwise.
func (b *Batch[T]) CanBackward() error {
	for _, u := range b.units {
		if err := canBackward(u.form); err != nil {
			return err
		}
	}
	return nil
}

// group computes the gradients of a head of keys in a sequence. What the units after the first give
// keys and values is added.
func (c *batched[T]) group(sequence, head, processors int) {
	b := c.b
	size := b.heads / b.keyHeads
	first := sort.Search(b.count, func(i int) bool { return b.unit(i).from >= head*size })
	for i := first; i < b.count && b.unit(i).from/size == head; i++ {
		u := b.unit(i)
		dk, dv := c.keyHead(c.dk, sequence, u), c.keyHead(c.dv, sequence, u)
		if i == first {
			c.unit(sequence, u, dk, dv, processors)
			continue
		}
		m, moreK, moreV := rowsFor[T](dk.Rows, dk.Cols, dv.Cols)
		c.unit(sequence, u, moreK, moreV, processors)
		for j := range dk.Rows {
			vecmath.AddScaled(dk.Row(j), moreK.Row(j), 1)
			vecmath.AddScaled(dv.Row(j), moreV.Row(j), 1)
		}
		pool.Put(&rowMemories, m)
	}
}

// unit computes the gradients of a unit in a sequence, with those of its keys and values in dk and
// dv.
func (c *batched[T]) unit(sequence int, u unit[T], dk, dv dense.Matrix[T], processors int) {
	p := c.request(sequence, u, processors)
	p.dq, p.dk, p.dv, p.dout = c.heads(c.dq, sequence, u), dk, dv, c.heads(c.dout, sequence, u)
	if form, ok := u.form.(maskedForm[T]); ok {
		form.attendBackward(p)
	} else {
		u.form.(Differentiable[T]).Backward(p.dq, p.dk, p.dv, p.q, p.k, p.v, p.dout)
	}
}
