package decoder

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Model is a decoder: it predicts each token of a text from the tokens before. Goroutines must not
// share a Model.
type Model struct {
	Config
	embedding *layer.Linear[float32] // Vocabulary×Width
	blocks    []*block
	norm      layer.RMSNorm[float32]
	out       *layer.Linear[float32] // Vocabulary×Width
	lengths   []int                  // of the sequences of the last call of Forward
}

// block is h = x + attention(norm(x)), y = h + gated(norm(h)).
type block struct {
	attentionNorm, gatedNorm layer.RMSNorm[float32]
	attention                *layer.MultiHead[float32]
	gate, up, down           *layer.Linear[float32] // W_g, W_u, W_d
	last                     dense.Matrix[float32]  // the input of attention in the last call
}

// Forward returns the logits of the token after each token, a row for each token. The sequences of
// the given lengths follow one another in tokens. Forward panics if a token is not in the
// vocabulary, or if lengths do not add up to the number of tokens.
func (m *Model) Forward(tokens, lengths []int) dense.Matrix[float32] {
	return m.out.Apply(none, m.Read(tokens, lengths))
}

// Read computes all layers as Forward does, and returns their output, of which logits are a linear
// map.
func (m *Model) Read(tokens, lengths []int) dense.Matrix[float32] {
	m.lengths = lengths
	return m.forward(tokens, func(i int, x dense.Matrix[float32]) dense.Matrix[float32] {
		return m.blocks[i].attention.Forward(none, x, performer.Sequences{Queries: lengths})
	})
}

// forward returns the output of all layers. attend computes the attention of a block.
func (m *Model) forward(tokens []int, attend func(block int, x dense.Matrix[float32]) dense.Matrix[float32]) dense.Matrix[float32] {
	x := dense.New[float32](len(tokens), m.Width)
	for i, t := range tokens {
		m.embedding.Row(x.Row(i), t)
	}
	var y, gate, up dense.Matrix[float32]
	for i, b := range m.blocks {
		b.last = b.attentionNorm.Apply(none, x)
		add(x, attend(i, b.last))
		y = b.gatedNorm.Apply(y, x)
		gate, up = b.gate.Apply(gate, y), b.up.Apply(up, y)
		add(x, b.down.Apply(y, layer.GatedSiLU(gate, gate, up)))
	}
	return m.norm.Apply(none, x)
}

// none makes methods allocate their results.
var none dense.Matrix[float32]

// Projections returns the queries, keys and values of a layer in the last call of Forward, after
// rotary positions. Heads are blocks of columns.
func (m *Model) Projections(layer int) (q, k, v dense.Matrix[float32]) {
	b := m.blocks[layer]
	return b.attention.Project(b.last, b.last, b.last, performer.Sequences{Queries: m.lengths})
}

// Use replaces the attention of a layer.
func (m *Model) Use(layer int, heads performer.Batch[float32]) error {
	b := m.blocks[layer]
	attention, err := b.attention.WithAttention(heads)
	if err == nil {
		b.attention = attention
	}
	return err
}

func add(x, y dense.Matrix[float32]) {
	for i := range x.Rows {
		row := x.Row(i)
		for j, v := range y.Row(i) {
			row[j] += v
		}
	}
}

// Batch is sequences one after another, and the token that follows each token.
type Batch struct{ Tokens, Next, Lengths []int }

// Losses returns −log p of the next token after each token of b, in nats. Panics are those of
// Forward.
func (m *Model) Losses(b Batch) []float64 { return m.losses(m.Read(b.Tokens, b.Lengths), b.Next) }

// losses returns −log p of each target, where p is the softmax of the logits of a row of x. It
// holds the logits of some rows at a time.
func (m *Model) losses(x dense.Matrix[float32], targets []int) []float64 {
	const rows = 256
	all := make([]float64, x.Rows)
	var logits dense.Matrix[float32]
	for lo := 0; lo < x.Rows; lo += rows {
		hi := min(lo+rows, x.Rows)
		if logits.Rows != hi-lo {
			logits = dense.New[float32](hi-lo, m.Vocabulary)
		}
		m.out.Apply(logits, x.RowRange(lo, hi))
		layer.LogSumExp(all[lo:hi], logits)
		for i := lo; i < hi; i++ {
			all[i] -= float64(logits.At(i-lo, targets[i]))
		}
	}
	return all
}

// Size returns the number of parameters.
func (m *Model) Size() int {
	perBlock := 2*m.Width + m.Width*(2*m.Heads+2*m.KeyHeads)*m.HeadDim + 3*m.Width*m.Inner
	tables := 2
	if m.Tied {
		tables = 1
	}
	return tables*m.Vocabulary*m.Width + m.Layers*perBlock + m.Width
}
