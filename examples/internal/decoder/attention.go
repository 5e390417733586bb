package decoder

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Attention computes the attention of heads, causal within each sequence; see performer.Batch.
type Attention[T dense.Float] interface {
	ForwardSequences(dst, q, k, v dense.Matrix[T], s performer.Sequences) dense.Matrix[T]
	BackwardSequences(dq, dk, dv, q, k, v, dout dense.Matrix[T], s performer.Sequences) (_, _, _ dense.Matrix[T])
}

// attention is y = heads(turn(x·W_qᵀ), turn(x·W_kᵀ), x·W_vᵀ)·W_oᵀ, where turn is rotary positions.
type attention[T dense.Float] struct {
	heads     Attention[T]
	d         int        // columns of all heads of queries
	keys      int        // columns of all heads of keys
	in        *linear[T] // W_q above W_k above W_v
	out       *linear[T] // W_o
	place     *places[T]
	state     *performer.State[T] // of the tokens before, or nil
	qkv       dense.Matrix[T]
	mix, dqkv buffer[T]
}

// places is where the tokens of a batch are, for all layers.
type places[T dense.Float] struct {
	sequences performer.Sequences
	positions []int
	rotary    *layer.Rotary[T]
	angles    layer.Angles[T]
}

// set gives the tokens of sequences of the given lengths positions from past.
func (p *places[T]) set(past int, lengths ...int) {
	p.sequences.Queries = lengths
	p.positions = p.positions[:0]
	for _, n := range lengths {
		for i := range n {
			p.positions = append(p.positions, past+i)
		}
	}
	p.angles = p.rotary.Angles(p.angles, p.positions)
}

func newAttention[T dense.Float](c Config, place *places[T], heads Attention[T], scale float64, src rand.Source) *attention[T] {
	d, keys := c.Heads*c.HeadDim, c.KeyHeads*c.HeadDim
	return &attention[T]{
		heads: heads, d: d, keys: keys, place: place,
		in:  newLinear[T](c.Width, d+2*keys, 1, src),
		out: newLinear[T](d, c.Width, scale, src),
	}
}

// split returns the columns of queries, keys and values.
func (a *attention[T]) split(m dense.Matrix[T]) (q, k, v dense.Matrix[T]) {
	return m.ColRange(0, a.d), m.ColRange(a.d, a.d+a.keys), m.ColRange(a.d+a.keys, m.Cols)
}

func (a *attention[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	a.qkv = a.in.forward(x)
	q, k, v := a.split(a.qkv)
	a.place.angles.Turn(a.qkv.ColRange(0, a.d+a.keys))
	y := a.mix.shape(x.Rows, a.d)
	if a.state != nil {
		return a.out.forward(a.state.Step(y, q, k, v))
	}
	return a.out.forward(a.heads.ForwardSequences(y, q, k, v, a.place.sequences))
}

func (a *attention[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dmix := a.out.backward(dy)
	dqkv := a.dqkv.shape(a.qkv.Rows, a.qkv.Cols)
	q, k, v := a.split(a.qkv)
	dq, dk, dv := a.split(dqkv)
	a.heads.BackwardSequences(dq, dk, dv, q, k, v, dmix, a.place.sequences)
	a.place.angles.TurnBack(dqkv.ColRange(0, a.d+a.keys))
	return a.in.backward(dqkv)
}
