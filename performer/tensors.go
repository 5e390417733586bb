package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
)

func (b *batch[T]) attend(c AttendArgs[T]) (Result[T], error) {
	p, err := b.tensors(&c)
	if err != nil {
		return Result[T]{}, err
	}
	q, v := c.Q, c.V
	switch want := [4]int{q.Batch, q.Heads, q.Rows, v.Cols}; {
	case !c.Out.IsZero():
		if c.Out.Shape() != want {
			return Result[T]{}, fmt.Errorf("performer: Out is %v, want %v", c.Out.Shape(), want)
		}
		c.Out.Check()
	case q.HeadStride < q.Stride && q.Heads > 1 && q.Batch > 0:
		c.Out = dense.SplitHeads(dense.New[T](q.Batch*q.Rows, q.Heads*v.Cols), q.Batch, q.Heads)
	default:
		c.Out = dense.NewTensor[T](q.Batch, q.Heads, q.Rows, v.Cols)
	}
	if c.Scores != NoScores {
		p.scores = dense.NewTensor[T](q.Batch, q.Heads, q.Rows, c.K.Rows)
	}
	r := Result[T]{Out: c.Out, K: c.K, V: c.V, Scores: p.scores, LogSums: p.logSums}
	p.out.Tensor = c.Out
	p.run()
	p.release()
	return r, nil
}

func (b *batch[T]) attendBackward(c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	p, err := b.tensors(&c)
	if err == nil {
		err = p.b.canBackward()
	}
	if err != nil {
		return Gradients[T]{}, err
	}
	if want := [4]int{c.Q.Batch, c.Q.Heads, c.Q.Rows, c.V.Cols}; dout.Shape() != want {
		return Gradients[T]{}, fmt.Errorf("performer: dout is %v, want %v, a gradient for each output", dout.Shape(), want)
	}
	dout.Check()
	if c.LearnBias && c.Bias.IsZero() {
		return Gradients[T]{}, errors.New("performer: LearnBias is set, but there is no Bias")
	}
	g := Gradients[T]{Q: like(c.Q), K: like(c.K), V: like(c.V)}
	if c.LearnBias {
		p.biases = dense.NewTensor[T](c.Q.Batch, c.Q.Heads, c.Q.Rows, c.Bias.Cols)
	}
	heads := c.Q.Heads
	p.sinks = make([]float64, c.Q.Batch*heads)
	p.backward, p.dq.Tensor, p.dk.Tensor, p.dv.Tensor, p.dout.Tensor = true, g.Q, g.K, g.V, dout
	p.run()
	for h := range heads {
		if !p.b.unitAt(h).Sink {
			continue
		}
		if g.LogSink == nil {
			g.LogSink = make([]T, heads)
		}
		sum := 0.0
		for at := range c.Q.Batch {
			sum += p.sinks[at*heads+h]
		}
		g.LogSink[h] = T(sum)
	}
	if c.LearnBias {
		g.Bias = summed(p.biases, c.Bias.Shape())
	}
	p.release()
	return g, nil
}

// tensors returns the pass of the arguments, whose K and V then have the past and the present keys
// and values.
func (b *batch[T]) tensors(c *AttendArgs[T]) (*pass[T], error) {
	if err := fitsTensors(c); err != nil {
		return nil, err
	}
	given := b.units[0].given
	if own, _ := ownOf(given); own != nil && !own.single {
		if b = own; b.heads != c.Q.Heads || b.keyHeads != c.K.Heads {
			return nil, fmt.Errorf("performer: Q is %v, K is %v, want heads of a Batch of %d heads of queries and %d of keys",
				c.Q.Shape(), c.K.Shape(), b.heads, b.keyHeads)
		}
	} else {
		var err error
		if b, err = newBatch(BatchOptions{c.Q.Heads, c.K.Heads}, []Attention[T]{given}); err != nil {
			return nil, err
		}
	}
	if b.dim != 0 && b.dim != c.Q.Cols {
		return nil, fmt.Errorf("performer: Q is %v, but the attention takes points of R^%d", c.Q.Shape(), b.dim)
	}
	p := pool.Get[pass[T]](&passes)
	*p = pass[T]{b: b, fromQuery: p.fromQuery, fromKey: p.fromKey, sequences: c.Q.Batch, bias: c.Bias, stage: sequence.Stage(c.Scores)}
	if c.LogSums {
		p.logSums = dense.NewTensor[T](c.Q.Batch, c.Q.Heads, c.Q.Rows, 1)
	}
	p.setMasks(c)
	if !c.PastK.IsZero() {
		c.K, c.V = joined(c.PastK, c.K), joined(c.PastV, c.V)
	}
	p.q.Tensor, p.k.Tensor, p.v.Tensor = c.Q, c.K, c.V
	return p, p.check()
}

func joined[T dense.Float](past, t dense.Tensor[T]) dense.Tensor[T] {
	all := dense.NewTensor[T](t.Batch, t.Heads, past.Rows+t.Rows, t.Cols)
	for b := range t.Batch {
		for h := range t.Heads {
			dst := dense.Head(all, b, h)
			dense.Copy(dst.RowRange(0, past.Rows), dense.Head(past, b, h))
			dense.Copy(dst.RowRange(past.Rows, dst.Rows), dense.Head(t, b, h))
		}
	}
	return all
}

// setMasks sets the past, the mask of pairs, and the keys that count by Lengths and by a Mask with
// one row.
func (p *pass[T]) setMasks(c *AttendArgs[T]) {
	keys := c.PastK.Rows + c.K.Rows
	if keys != c.K.Rows || c.Lengths != nil {
		p.past = make([]int, p.sequences)
		for at := range p.past {
			if p.past[at] = c.PastK.Rows; c.Lengths != nil {
				p.past[at] = c.Lengths[at] - c.Q.Rows
			}
		}
	}
	ofKeys := !c.Mask.IsZero() && c.Mask.Rows == 1
	if !ofKeys {
		p.mask = c.Mask
	}
	if c.Lengths == nil && !ofKeys {
		return
	}
	heads := 1
	if p.perHead = ofKeys && c.Mask.Heads > 1; p.perHead {
		heads = c.Q.Heads
	}
	p.valid = make([]bool, p.sequences*heads*keys)
	for at := range p.sequences * heads {
		valid, seq := p.valid[at*keys:][:keys], at/heads
		if c.Lengths != nil {
			valid = valid[:c.Lengths[seq]]
		}
		if ofKeys {
			copy(valid, c.Mask.Row(min(seq, c.Mask.Batch-1), at%heads, 0))
			continue
		}
		for j := range valid {
			valid[j] = true
		}
	}
}

func like[T dense.Float](t dense.Tensor[T]) dense.Tensor[T] {
	return dense.NewTensor[T](t.Batch, t.Heads, t.Rows, t.Cols)
}

// summed returns the sums of t over the sides that are 1 in shape, in a fixed order.
func summed[T dense.Float](t dense.Tensor[T], shape [4]int) dense.Tensor[T] {
	if shape == t.Shape() {
		return t
	}
	sums := dense.NewTensor[T](shape[0], shape[1], shape[2], shape[3])
	for b := range t.Batch {
		for h := range t.Heads {
			for i := range t.Rows {
				row := sums.Row(min(b, shape[0]-1), min(h, shape[1]-1), min(i, shape[2]-1))
				vecmath.AddScaled(row, t.Row(b, h, i), 1)
			}
		}
	}
	return sums
}
