package main

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// shape holds the sizes of a model.
type shape struct{ symbols, context, blocks, width, heads int }

// defaults are the sizes of the program's models.
var defaults = shape{blocks: 4, width: 128, heads: 4}

// forms returns the form of attention of one block.
type forms[T dense.Float] func() (performer.Differentiable[T], error)

// model predicts each symbol of a text from the symbols before it: a transformer with normalised
// inputs of every layer.
type model[T dense.Float] struct {
	shape
	embedding *embedding[T]
	blocks    []*block[T]
	norm      *norm[T]
	out       *linear[T]
	loss      crossEntropy[T]
}

func newModel[T dense.Float](s shape, form forms[T], src rand.Source) (*model[T], error) {
	m := &model[T]{shape: s, embedding: newEmbedding[T](s, src), norm: newNorm[T](s.width)}
	for range s.blocks {
		f, err := form()
		if err != nil {
			return nil, err
		}
		b, err := newBlock(s, f, src)
		if err != nil {
			return nil, err
		}
		m.blocks = append(m.blocks, b)
	}
	const small = 0.1 // predictions start out nearly uniform
	m.out = newLinear[T](s.width, s.symbols, small, src)
	return m, nil
}

// forward returns the logits of the symbol after each one, a row each, for sequences of the given
// length one after another.
func (m *model[T]) forward(symbols []int, length int) dense.Matrix[T] {
	x := m.embedding.forward(symbols, length)
	for _, b := range m.blocks {
		b.attention.length = length
		x = b.forward(x)
	}
	return m.out.forward(m.norm.forward(x))
}

// gradients writes the gradients of the mean loss over the sequences in b and returns the loss.
func (m *model[T]) gradients(b batch) float64 {
	loss, dx := m.loss.gradient(m.forward(b.symbols, b.length), b.next)
	dx = m.norm.backward(m.out.backward(dx))
	for i := len(m.blocks) - 1; i >= 0; i-- {
		dx = m.blocks[i].backward(dx)
	}
	m.embedding.backward(dx)
	return loss
}

// evaluate returns the mean loss over the sequences in b.
func (m *model[T]) evaluate(b batch) float64 {
	return m.loss.mean(m.forward(b.symbols, b.length), b.next)
}

// redraw gives every block features of its own.
func (m *model[T]) redraw(draw func() (rff.Map[T], error)) error {
	for _, b := range m.blocks {
		phi, err := draw()
		if err != nil {
			return err
		}
		if err := b.attention.redraw(phi); err != nil {
			return err
		}
	}
	return nil
}

func (m *model[T]) parameters() []*parameter[T] {
	all := m.embedding.parameters()
	for _, b := range m.blocks {
		all = append(all, b.parameters()...)
	}
	return append(append(all, m.norm.parameters()...), m.out.parameters()...)
}

// size returns the number of parameters.
func (m *model[T]) size() (n int) {
	for _, p := range m.parameters() {
		n += len(p.value.Data)
	}
	return n
}

// embedding is the sum of learnt vectors: one for the symbol, one for each of the symbols just
// before it, by distance, and one for the place in the sequence. Without the symbols before, layers
// of attention must first learn to find the last few symbols, which takes long.
type embedding[T dense.Float] struct {
	symbol, place *parameter[T] // (recent·symbols)×d, context×d
	kinds         int           // of symbols
	symbols       []int
	length        int
	x             buffer[T]
}

// recent is the number of symbols in an embedding.
const recent = 4

func newEmbedding[T dense.Float](s shape, src rand.Source) *embedding[T] {
	const sigma = 0.1
	return &embedding[T]{
		symbol: newParameter[T](recent*s.symbols, s.width, sigma, src),
		place:  newParameter[T](s.context, s.width, sigma, src),
		kinds:  s.symbols,
	}
}

func (e *embedding[T]) forward(symbols []int, length int) dense.Matrix[T] {
	e.symbols, e.length = symbols, length
	x := e.x.shape(len(symbols), e.symbol.value.Cols)
	for i := range symbols {
		copy(x.Row(i), e.place.value.Row(i%length))
		for back := range min(i%length+1, recent) {
			add(x.Row(i), e.symbol.value.Row(back*e.kinds+symbols[i-back]))
		}
	}
	return x
}

func (e *embedding[T]) backward(dx dense.Matrix[T]) {
	clear(e.symbol.gradient.Data)
	clear(e.place.gradient.Data)
	for i := range e.symbols {
		add(e.place.gradient.Row(i%e.length), dx.Row(i))
		for back := range min(i%e.length+1, recent) {
			add(e.symbol.gradient.Row(back*e.kinds+e.symbols[i-back]), dx.Row(i))
		}
	}
}

func (e *embedding[T]) parameters() []*parameter[T] {
	return []*parameter[T]{e.symbol, e.place}
}

// block is h = x + attention(norm(x)), y = h + down(max(up(norm(h)), 0)²).
type block[T dense.Float] struct {
	attentionNorm *norm[T]
	attention     *attention[T]
	innerNorm     *norm[T]
	up            *linear[T] // d×4d
	relu          squaredReLU[T]
	down          *linear[T] // 4d×d
}

func newBlock[T dense.Float](s shape, form performer.Differentiable[T], src rand.Source) (*block[T], error) {
	// The sum that 2·blocks layers add to x has the variance of one unscaled layer.
	scale := 1 / math.Sqrt(2*float64(s.blocks))
	a, err := newAttention(form, s.width, s.heads, scale, src)
	return &block[T]{
		attentionNorm: newNorm[T](s.width), attention: a,
		innerNorm: newNorm[T](s.width),
		up:        newLinear[T](s.width, 4*s.width, 1, src),
		down:      newLinear[T](4*s.width, s.width, scale, src),
	}, err
}

// Sums go into the memory of the last layer, which does not read its outputs again.

func (b *block[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	h := b.attention.forward(b.attentionNorm.forward(x))
	add(h.Data, x.Data)
	y := b.down.forward(b.relu.forward(b.up.forward(b.innerNorm.forward(h))))
	add(y.Data, h.Data)
	return y
}

func (b *block[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dh := b.innerNorm.backward(b.up.backward(b.relu.backward(b.down.backward(dy))))
	add(dh.Data, dy.Data)
	dx := b.attentionNorm.backward(b.attention.backward(dh))
	add(dx.Data, dh.Data)
	return dx
}

func (b *block[T]) parameters() (all []*parameter[T]) {
	for _, l := range []layer[T]{b.attentionNorm, b.attention, b.innerNorm, b.up, b.down} {
		all = append(all, l.parameters()...)
	}
	return all
}
