package decoder

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Model is a decoder: it predicts each token of a text from the tokens before. A Model works on one
// call at a time.
type Model[T dense.Float] struct {
	Config
	embedding *Parameter[T] // Vocabulary×Width
	blocks    []*block[T]
	norm      *rmsNorm[T]
	out       *Parameter[T] // Vocabulary×Width, the embedding if tied
	place     *places[T]

	tokens   []int
	x, y, dx buffer[T]
	losses   buffer[float64]
	h        dense.Matrix[T] // normalised outputs of the last block
}

// New returns a model with random parameters. heads returns the attention of a layer. The error
// reports sizes below 1 or that do not fit each other, and what heads reports.
func New[T dense.Float](c Config, heads func(layer int) (Attention[T], error), src rand.Source) (*Model[T], error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	const sigma = 0.02 // logits start out near zero
	m := &Model[T]{Config: c, embedding: newParameter[T](c.Vocabulary, c.Width, sigma, src), place: new(places[T])}
	m.out = m.embedding
	if !c.Tied {
		m.out = newParameter[T](c.Vocabulary, c.Width, sigma, src)
	}
	var err error
	if m.place.rotary, err = layer.NewRotary[T](c.HeadDim, layer.RotaryOptions{Base: c.Base}); err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	for i := range c.Layers {
		a, err := heads(i)
		if err != nil {
			return nil, err
		}
		m.blocks = append(m.blocks, newBlock(c, m.place, a, src))
	}
	m.norm = newRMSNorm[T](c)
	return m, nil
}

// Forward returns the logits of the token after each token, a row each, for sequences of the given
// lengths one after another. The next call overwrites the logits. Forward panics if a token is not
// in the vocabulary, or if lengths do not add up to the tokens.
func (m *Model[T]) Forward(tokens, lengths []int) dense.Matrix[T] {
	m.place.set(0, lengths...)
	return m.forward(tokens)
}

// forward returns the logits of tokens at their places.
func (m *Model[T]) forward(tokens []int) dense.Matrix[T] {
	m.tokens = tokens
	x := m.x.shape(len(tokens), m.Width)
	for i, t := range tokens {
		copy(x.Row(i), m.embedding.Value.Row(t))
	}
	for _, b := range m.blocks {
		x = b.forward(x)
	}
	m.h = m.norm.forward(x)
	logits := m.y.shape(len(tokens), m.Vocabulary)
	multiply(logits, m.h, blas.NoTrans, m.out.Value, blas.Trans)
	return logits
}

// Batch is sequences one after another, and the token that follows each token.
type Batch struct{ Tokens, Next, Lengths []int }

// Append appends the sequence of the given length that begins at the given place of a text.
func (b *Batch) Append(text []uint16, at, length int) {
	for i := at; i < at+length; i++ {
		b.Tokens = append(b.Tokens, int(text[i]))
		b.Next = append(b.Next, int(text[i+1]))
	}
	b.Lengths = append(b.Lengths, length)
}

// Losses returns −log p of the next token after each token in b, in nats, in memory that the next
// call overwrites. Panics are those of Forward.
func (m *Model[T]) Losses(b Batch) []float64 {
	logits := m.Forward(b.Tokens, b.Lengths)
	losses := m.losses.shape(1, len(b.Next)).Data
	crossEntropy(logits, losses, b.Next, false)
	return losses
}

// Gradients writes the gradients of the mean loss over the sequences in b and returns the loss.
// Panics are those of Forward.
func (m *Model[T]) Gradients(b Batch) float64 {
	logits := m.Forward(b.Tokens, b.Lengths)
	loss := crossEntropy(logits, m.losses.shape(1, len(b.Next)).Data, b.Next, true)
	multiply(m.out.Gradient, logits, blas.Trans, m.h, blas.NoTrans)
	dx := m.dx.shape(len(b.Tokens), m.Width)
	multiply(dx, logits, blas.NoTrans, m.out.Value, blas.NoTrans)
	dx = m.norm.backward(dx)
	for i := len(m.blocks) - 1; i >= 0; i-- {
		dx = m.blocks[i].backward(dx)
	}
	if !m.Tied {
		clear(m.embedding.Gradient.Data)
	}
	for i, t := range m.tokens {
		add(m.embedding.Gradient.Row(t), dx.Row(i))
	}
	return loss
}

// Parameters returns all parameters of m in a fixed order.
func (m *Model[T]) Parameters() []*Parameter[T] {
	all := []*Parameter[T]{m.embedding}
	if !m.Tied {
		all = append(all, m.out)
	}
	for _, b := range m.blocks {
		all = append(all, b.parameters()...)
	}
	return append(all, m.norm.gain)
}

// Size returns the number of parameters.
func (m *Model[T]) Size() (n int) {
	for _, p := range m.Parameters() {
		n += len(p.Value.Data)
	}
	return n
}

// Projections returns the queries, keys and values of a layer in the last call, as attention has
// got them: heads are blocks of columns.
func (m *Model[T]) Projections(layer int) (q, k, v dense.Matrix[T]) {
	a := m.blocks[layer].attention
	return a.split(a.qkv)
}

// Use replaces the attention of a layer.
func (m *Model[T]) Use(layer int, heads Attention[T]) { m.blocks[layer].attention.heads = heads }
