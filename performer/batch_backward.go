package performer

import (
	"fmt"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Backward is BackwardSequences of one sequence, all of whose keys count.
func (b *Batch[T]) Backward(dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return instance.Of(&batchBackwardBoth, (*Batch[T]).Backward)(b, dq, dk, dv, q, k, v, dout)
}

var batchBackwardBoth = instance.Both{batchBackward[float32], batchBackward[float64]}

func batchBackward[T dense.Float](b *Batch[T], dq, dk, dv, q, k, v, dout dense.Matrix[T]) (_, _, _ dense.Matrix[T]) {
	return b.BackwardSequences(dq, dk, dv, q, k, v, dout, Sequences{})
}

// BackwardSequences writes the gradients of L = Σ_ic dout_ic·out_ic with respect to q (Lq×H·d), k
// (Lk×Hk·d) and v (Lk×Hk·dv) into dq, dk and dv, and returns these; a zero matrix is allocated. out
// (Lq×H·dv) is the result of ForwardSequences for the same sequences. The gradient of a head of
// keys and values is a sum over the heads of queries that read it, in a fixed order.
//
// Gradients of keys and values that do not count, or that no query sees, are exactly zero, and so
// are gradients of queries that see no key. If the row of dout of a query in a head is zero, the
// gradient of the query is zero, and the query adds nothing to other gradients, even if it holds
// NaN. So if dout is zero in padding, the gradients of valid tokens depend neither on the contents
// of the padding nor on its length, to the last bit. A form of another package gets all rows as
// they are, unless it is bidirectional and [Maskable].
//
// If all rows count, dq has the bits that Backward of the form gives for views of each head, and so
// have dk and dv if every head of queries has its own head of keys. GOMAXPROCS processors share
// heads of keys and sequences as in Forward, and bits do not depend on this. Beyond the memory of
// the forms, BackwardSequences copies rows that count if they are not consecutive. For groups it
// copies the queries if the form takes them together, and holds the gradients of a head of keys if
// not. It allocates nothing once that memory is there, if the forms do not.
//
// dq, dk and dv must not overlap each other nor an input. BackwardSequences panics with the shapes
// if they do not fit, with the text of CanBackward if it returns an error, and as ForwardSequences
// for forms of another package.
func (b *Batch[T]) BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T]) {
	return instance.Of(&batchBackwardSequencesBoth, (*Batch[T]).BackwardSequences)(b, dq, dk, dv, q, k, v, dout, s)
}

var batchBackwardSequencesBoth = instance.Both{batchBackwardSequences[float32], batchBackwardSequences[float64]}

func batchBackwardSequences[T dense.Float](b *Batch[T], dq, dk, dv, q, k, v, dout dense.Matrix[T], s Sequences) (_, _, _ dense.Matrix[T]) {
	if err := b.CanBackward(); err != nil {
		panic(err.Error())
	}
	checkBatch(b, q, k, v, s)
	if err := takesBatch(b, k.Rows, s, takesMasksBackward[T]); err != nil {
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
	runBatch(b, batched[T]{gradientRequest: g, s: s, backward: true, pieces: b.keyHeads})
	return g.dq, g.dk, g.dv
}

// CanBackward returns nil if all forms are Differentiable and can be differentiated. Otherwise the
// error says why the first other form cannot.
func (b *Batch[T]) CanBackward() error {
	return instance.Of(&batchCanBackwardBoth, (*Batch[T]).CanBackward)(b)
}

var batchCanBackwardBoth = instance.Both{batchCanBackward[float32], batchCanBackward[float64]}

func batchCanBackward[T dense.Float](b *Batch[T]) error {
	for _, u := range b.units {
		if err := canBackward(u.form); err != nil {
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
	answerBackward(u.form, p)
}
