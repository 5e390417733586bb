package decoder

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Model is a decoder: it predicts each token of a text from the tokens before. Goroutines must not
// share a Model.
type Model struct {
	Config
	embedding dense.Matrix[float32] // Vocabulary×Width
	blocks    []*block
	norm      []float32             // gains
	out       dense.Matrix[float32] // Vocabulary×Width
	rotary    *layer.Rotary[float32]
	angles    layer.Angles[float32]
}

// block is h = x + attention(norm(x)), y = h + gated(norm(h)), where
//
//	attention(x) = heads(turn(x·W_qᵀ), turn(x·W_kᵀ), x·W_vᵀ)·W_oᵀ
//
// and turn is rotary positions.
type block struct {
	attentionNorm, gatedNorm []float32             // gains
	qkv                      dense.Matrix[float32] // W_q above W_k above W_v
	out                      dense.Matrix[float32] // W_o
	gateUp                   dense.Matrix[float32] // W_g above W_u
	down                     dense.Matrix[float32] // W_d
	heads                    performer.Batch[float32]
	last                     dense.Matrix[float32] // queries, keys and values of the last call
}

// Forward returns the logits of the token after each token, a row for each token. The sequences of
// the given lengths follow one another in tokens. Forward panics if a token is not in the
// vocabulary, or if lengths do not add up to the number of tokens.
func (m *Model) Forward(tokens, lengths []int) dense.Matrix[float32] {
	var positions []int
	for _, n := range lengths {
		positions = appendPositions(positions, 0, n)
	}
	return m.forward(tokens, positions, func(i int, dst, q, k, v dense.Matrix[float32]) {
		m.blocks[i].heads.ForwardSequences(dst, q, k, v, performer.Sequences{Queries: lengths})
	})
}

// appendPositions appends the n positions from first on.
func appendPositions(positions []int, first, n int) []int {
	for i := range n {
		positions = append(positions, first+i)
	}
	return positions
}

// forward returns the logits of tokens at their positions. attend computes the attention of a
// block.
func (m *Model) forward(tokens, positions []int, attend func(block int, dst, q, k, v dense.Matrix[float32])) dense.Matrix[float32] {
	m.angles = m.rotary.Angles(m.angles, positions)
	x := dense.New[float32](len(tokens), m.Width)
	for i, t := range tokens {
		copy(x.Row(i), m.embedding.Row(t))
	}
	for i, b := range m.blocks {
		b.last = product(m.normalise(x, b.attentionNorm), b.qkv)
		m.angles.Turn(b.last.ColRange(0, (m.Heads+m.KeyHeads)*m.HeadDim))
		q, k, v := m.Projections(i)
		mixed := dense.New[float32](q.Rows, q.Cols)
		attend(i, mixed, q, k, v)
		addProduct(x, mixed, b.out)
		addProduct(x, gate(product(m.normalise(x, b.gatedNorm), b.gateUp)), b.down)
	}
	return product(m.normalise(x, m.norm), m.out)
}

// Projections returns the queries, keys and values of a layer in the last call, after rotary
// positions. Heads are blocks of columns.
func (m *Model) Projections(layer int) (q, k, v dense.Matrix[float32]) {
	x, d, keys := m.blocks[layer].last, m.Heads*m.HeadDim, m.KeyHeads*m.HeadDim
	return x.ColRange(0, d), x.ColRange(d, d+keys), x.ColRange(d+keys, x.Cols)
}

// Use replaces the attention of a layer.
func (m *Model) Use(layer int, heads performer.Batch[float32]) { m.blocks[layer].heads = heads }

// normalise divides the rows of x by their root mean square and multiplies columns by gains [Zhang
// & Sennrich 2019]: y_ij = g_j·x_ij/√(Σ_l x_il²/n + ε).
func (m *Model) normalise(x dense.Matrix[float32], gains []float32) dense.Matrix[float32] {
	y := dense.New[float32](x.Rows, x.Cols)
	eachRow(x.Rows, func(i int) {
		var sum float64
		for _, v := range x.Row(i) {
			sum += float64(v) * float64(v)
		}
		scale := float32(1 / math.Sqrt(sum/float64(x.Cols)+m.Epsilon))
		to := y.Row(i)
		for j, v := range x.Row(i) {
			to[j] = v * scale * gains[j]
		}
	})
	return y
}

// gate returns silu(g) ⊙ u for rows (g, u) of x, where silu(g) = g/(1 + exp(−g)) [Shazeer 2020].
func gate(x dense.Matrix[float32]) dense.Matrix[float32] {
	n := x.Cols / 2
	y := dense.New[float32](x.Rows, n)
	eachRow(x.Rows, func(i int) {
		to, up := y.Row(i), x.Row(i)[n:]
		for j, g := range x.Row(i)[:n] {
			to[j] = g * up[j] / float32(1+math.Exp(-float64(g)))
		}
	})
	return y
}

// Batch is sequences one after another, and the token that follows each token.
type Batch struct{ Tokens, Next, Lengths []int }

// Losses returns −log p of the next token after each token of b, in nats. Panics are those of
// Forward.
func (m *Model) Losses(b Batch) []float64 { return losses(m.Forward(b.Tokens, b.Lengths), b.Next) }

// losses returns −log p of the target of each row, where p is the softmax of the row of logits.
func losses(logits dense.Matrix[float32], targets []int) []float64 {
	all := make([]float64, logits.Rows)
	eachRow(logits.Rows, func(i int) {
		row := logits.Row(i)
		peak := slices.Max(row)
		var sum float64
		for _, x := range row {
			sum += math.Exp(float64(x - peak))
		}
		all[i] = float64(peak-row[targets[i]]) + math.Log(sum)
	})
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
