package performer

import (
	"fmt"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
)

func (b *batch[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return b.BackwardSequences(dq, dk, dv, q, k, v, dout, Sequences{})
}

func (b *batch[T]) BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T]) {
	if err := b.CanBackward(); err != nil {
		panic(err.Error())
	}
	err := b.Check(q, k, v, s)
	if err == nil {
		err = b.checkMasks(k.Rows, s, takesMaskBackward[T])
	}
	if err != nil {
		panic(err.Error())
	}
	dout.Check()
	if width := v.Cols / b.keyHeads * b.heads; dout.Rows != q.Rows || dout.Cols != width {
		panic(fmt.Sprintf("performer: dout is %d×%d, q is %d×%d, v is %d×%d, want %d×%d, a gradient for each output",
			dout.Rows, dout.Cols, q.Rows, q.Cols, v.Rows, v.Cols, q.Rows, width))
	}
	g := sequence.Backward[T]{
		Forward: sequence.Forward[T]{Q: q, K: k, V: v}, DOut: dout,
		DQ: dense.Ensure(dq, q.Rows, q.Cols), DK: dense.Ensure(dk, k.Rows, k.Cols), DV: dense.Ensure(dv, v.Rows, v.Cols),
	}
	b.run(batchPass[T]{all: g, s: s, backward: true, pieces: b.keyHeads})
	return g.DQ, g.DK, g.DV
}

func (b *batch[T]) CanBackward() error {
	for _, u := range b.units {
		if err := canBackward(u.attention); err != nil {
			return err
		}
	}
	return nil
}

// backwardGroup computes the gradients of a head of keys in sequence number at. Gradients of keys
// and values are summed over the units.
func (p *batchPass[T]) backwardGroup(at, head, processors int) {
	b := p.b
	size := b.heads / b.keyHeads
	first := sort.Search(b.count, func(i int) bool { return b.unit(i).from >= head*size })
	for i := first; i < b.count && b.unit(i).from/size == head; i++ {
		u := b.unit(i)
		s := sequence.Backward[T]{Forward: p.arguments(at, u, processors), DQ: p.heads(p.all.DQ, at, u), DOut: p.heads(p.all.DOut, at, u)}
		dk, dv := p.keyHead(p.all.DK, at, u), p.keyHead(p.all.DV, at, u)
		addBackward(u.attention, s, dk, dv, i == first)
	}
}

// addBackward writes the gradients of a sequence with respect to keys and values into dk and dv if
// first is true, and otherwise adds the gradients to dk and dv.
func addBackward[T dense.Float](attention Attention[T], s sequence.Backward[T], dk, dv dense.Matrix[T], first bool) {
	if first {
		s.DK, s.DV = dk, dv
		backwardSequence(attention, s)
		return
	}
	var m *layout.Tokens[T]
	m, s.DK, s.DV = layout.TokensOf[T](dk.Rows, dk.Cols, dv.Cols)
	backwardSequence(attention, s)
	for j := range dk.Rows {
		vecmath.AddScaled(dk.Row(j), s.DK.Row(j), 1)
		vecmath.AddScaled(dv.Row(j), s.DV.Row(j), 1)
	}
	m.Release()
}
