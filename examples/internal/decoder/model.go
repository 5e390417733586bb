package decoder

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Model is a decoder: it predicts each token of a text from the tokens before. Goroutines must not
// share a Model.
type Model struct {
	Config
	embedding *layer.Linear[float32] // Vocabulary×Width
	blocks    []*decoderLayer
	norm      layer.RMSNorm[float32]
	out       *layer.Linear[float32] // Vocabulary×Width
	lengths   []int                  // of the sequences of the last call of Forward
}

// decoderLayer is h = x + attention(norm(x)), y = h + gated(norm(h)).
type decoderLayer struct {
	attentionNorm, gatedNorm layer.RMSNorm[float32]
	attention                *layer.MultiHead[float32]
	gate, up, down           *layer.Linear[float32] // W_g, W_u, W_d
	last                     dense.Matrix[float32]  // the input of attention in the last call
}

// Forward returns the logits of the token after each token, a row for each token. The sequences of
// the given lengths follow one another in tokens. Forward panics if a token is not in the
// vocabulary, or if lengths do not add up to the number of tokens.
func (m *Model) Forward(tokens, lengths []int) dense.Matrix[float32] {
	return m.Logits(m.Read(tokens, lengths))
}

// Logits returns the logits of the next token for each row of x, an output of Read.
func (m *Model) Logits(x dense.Matrix[float32]) dense.Matrix[float32] { return m.out.Apply(none, x) }

// Read computes all layers as Forward does, and returns their output.
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

// rows is the number of tokens whose logits are held at a time.
const rows = 256

// Losses returns −log p of each of the next tokens, in nats, where p is the softmax of the logits
// of a row of x, an output of Read.
func (m *Model) Losses(x dense.Matrix[float32], next []int) []float64 {
	all := make([]float64, x.Rows)
	for lo := 0; lo < x.Rows; lo += rows {
		hi := min(lo+rows, x.Rows)
		logits := m.Logits(x.RowRange(lo, hi))
		layer.LogSumExp(all[lo:hi], logits)
		for i := lo; i < hi; i++ {
			all[i] -= float64(logits.At(i-lo, next[i]))
		}
	}
	return all
}

// Divergences returns the Kullback–Leibler divergence Σ_j p_j·log(p_j/q_j) for each row of x and y,
// outputs of Read, in nats. p and q are the softmax of the logits of a row of x and of y.
func (m *Model) Divergences(x, y dense.Matrix[float32]) []float64 {
	all := make([]float64, x.Rows)
	for lo := 0; lo < x.Rows; lo += rows {
		hi := min(lo+rows, x.Rows)
		p, q := m.Logits(x.RowRange(lo, hi)), m.Logits(y.RowRange(lo, hi))
		sumP, sumQ := layer.LogSumExp(nil, p), layer.LogSumExp(nil, q)
		for i := range p.Rows {
			other := q.Row(i)
			for j, logit := range p.Row(i) {
				l := float64(logit) - sumP[i]
				all[lo+i] += math.Exp(l) * (l - float64(other[j]) + sumQ[i])
			}
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
