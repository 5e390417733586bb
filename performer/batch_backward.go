package performer

import (
	"fmt"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

func (b *batch[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return b.BackwardSequences(dq, dk, dv, q, k, v, dout, Sequences{})
}

func (b *batch[T]) BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T]) {
	if err := b.CanBackward(); err != nil {
		panic(err.Error())
	}
	b.mustFit(q, k, v, s)
	if err := b.takes(k.Rows, s, takesMasksBackward[T]); err != nil {
		panic(err.Error())
	}
	dout.Check()
	if width := v.Cols / b.keyHeads * b.heads; dout.Rows != q.Rows || dout.Cols != width {
		panic(fmt.Sprintf("performer: dout is %d×%d, q is %d×%d, v is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, v.Rows, v.Cols, q.Rows, width))
	}
	g := gradientRequest[T]{
		request: request[T]{q: q, k: k, v: v}, dout: dout,
		dq: dense.Ensure(dq, q.Rows, q.Cols), dk: dense.Ensure(dk, k.Rows, k.Cols), dv: dense.Ensure(dv, v.Rows, v.Cols),
	}
	b.run(batched[T]{gradientRequest: g, s: s, backward: true, pieces: b.keyHeads})
	return g.dq, g.dk, g.dv
}

func (b *batch[T]) CanBackward() error {
	for _, u := range b.units {
		if err := canBackward(u.attention); err != nil {
			return err
		}
	}
	return nil
}

// group computes the gradients of a head of keys in a sequence. Gradients of keys and values are
// summed over the units.
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
		m, moreK, moreV := layout.TokensOf[T](dk.Rows, dk.Cols, dv.Cols)
		c.unit(sequence, u, moreK, moreV, processors)
		for j := range dk.Rows {
			vecmath.AddScaled(dk.Row(j), moreK.Row(j), 1)
			vecmath.AddScaled(dv.Row(j), moreV.Row(j), 1)
		}
		m.Release()
	}
}

// unit computes the gradients of a unit in a sequence; dk and dv are for its keys and values.
func (c *batched[T]) unit(sequence int, u unit[T], dk, dv dense.Matrix[T], processors int) {
	p := gradientRequest[T]{
		request: c.requestOf(sequence, u, processors),
		dq:      c.heads(c.dq, sequence, u), dk: dk, dv: dv, dout: c.heads(c.dout, sequence, u),
	}
	answerBackward(u.attention, p)
}
