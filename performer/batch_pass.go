package performer

import (
	"fmt"
	"runtime"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
)

func (b *batch[T]) Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	return b.ForwardSequences(dst, q, k, v, Sequences{})
}

func (b *batch[T]) ForwardSequences(dst, q, k, v dense.Matrix[T], s Sequences) dense.Matrix[T] {
	if err := b.Check(q, k, v, s); err != nil {
		panic(err.Error())
	}
	dst = dense.Ensure(dst, q.Rows, v.Cols/b.keyHeads*b.heads)
	b.run(batchPass[T]{all: sequence.Backward[T]{Forward: sequence.Forward[T]{Dst: dst, Q: q, K: k, V: v}}, s: s, pieces: b.count})
	return dst
}

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

// batchPass is a forward or backward pass of a batch. A piece of a forward pass is a unit in a
// sequence. A piece of a backward pass is a head of keys in a sequence.
type batchPass[T dense.Float] struct {
	b        *batch[T]
	all      sequence.Backward[T] // matrices of all heads and sequences
	s        Sequences
	backward bool
	pieces   int // of a sequence

	fromQuery, fromKey []int // where sequences begin, and where the last sequence ends
}

// batchPasses keeps memory between calls.
var batchPasses pool.Pair[batchPass[float32], batchPass[float64]]

// run computes a pass.
func (b *batch[T]) run(pass batchPass[T]) {
	p := pool.Get[batchPass[T]](&batchPasses)
	pass.b = b
	pass.fromQuery = layout.Starts(p.fromQuery[:0], pass.s.Queries, pass.all.Q.Rows)
	pass.fromKey = layout.Starts(p.fromKey[:0], pass.s.lengthsOfKeys(), pass.all.K.Rows)
	*p = pass
	n, processors := (len(p.fromQuery)-1)*p.pieces, runtime.GOMAXPROCS(0)
	together := n / processors * processors
	parallel.Do(together, p)
	for i := together; i < n; i++ {
		p.piece(i, processors)
	}
	*p = batchPass[T]{fromQuery: p.fromQuery, fromKey: p.fromKey}
	pool.Put(&batchPasses, p)
}

func (p *batchPass[T]) Piece(i int) { p.piece(i, 1) }

// piece computes piece i with the given number of processors.
func (p *batchPass[T]) piece(i, processors int) {
	at, piece := i/p.pieces, i%p.pieces
	if p.backward {
		p.backwardGroup(at, piece, processors)
		return
	}
	u, ok := p.b.together(p.b.unit(piece), p.fromQuery[at+1]-p.fromQuery[at])
	if !ok {
		return
	}
	s := p.arguments(at, u, processors)
	s.Dst = p.heads(p.all.Dst, at, u)
	forwardSequence(u.attention, s)
}

// arguments returns the arguments for a unit in sequence number at, without the matrices to write.
func (p *batchPass[T]) arguments(at int, u unit[T], processors int) sequence.Forward[T] {
	return sequence.Forward[T]{
		Q: p.heads(p.all.Q, at, u), K: p.keyHead(p.all.K, at, u), V: p.keyHead(p.all.V, at, u),
		Heads: u.to - u.from, Processors: processors,
		Valid: p.s.keysIn(p.fromKey[at], p.fromKey[at+1]),
		Past:  p.s.pastOf(at),
	}
}

// heads returns the block of m for the heads of a unit in sequence number at. m has the shape of
// the queries or of the outputs.
func (p *batchPass[T]) heads(m dense.Matrix[T], at int, u unit[T]) dense.Matrix[T] {
	return layout.Heads(m.RowRange(p.fromQuery[at], p.fromQuery[at+1]), u.from, u.to, p.b.heads)
}

// keyHead returns the block of m for the head of keys of a unit in sequence number at. m has the
// shape of the keys or of the values.
func (p *batchPass[T]) keyHead(m dense.Matrix[T], at int, u unit[T]) dense.Matrix[T] {
	return layout.Head(m.RowRange(p.fromKey[at], p.fromKey[at+1]), u.from/(p.b.heads/p.b.keyHeads), p.b.keyHeads)
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
