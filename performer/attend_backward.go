package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
)

// Gradients holds the results of [AttendBackward].
type Gradients[T dense.Float] struct {
	Q    dense.Tensor[T] // (B, H, Lq, d)
	K, V dense.Tensor[T] // (B, Hk, Lk, d) and (B, Hk, Lk, dv), for past keys and values first
	Bias dense.Tensor[T] // with the shape of Bias of the AttendArgs if LearnBias is set, otherwise zero
}

// AttendBackward returns the gradients of L = Σ dout·out with respect to queries, keys, values and
// biases. out is the result of [Attend] with the same arguments, and dout (B, H, Lq, dv) is the
// gradient of L with respect to out. With P and dS of [Exact] the gradient of a bias is Σ dS over
// the pairs to which the bias is broadcast. Gradients of keys that no query sees are zero, and so
// are gradients of queries that see no key. A query with a dout of zero has the gradient zero, and
// adds nothing to other gradients, even if the query is NaN.
//
// The time is three to four times the time of Attend. AttendBackward returns an error in the cases
// of Attend, if dout does not fit, if the attention has no gradients, and for LearnBias without
// Bias.
func AttendBackward[T dense.Float](attention Attention[T], c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	b, err := tensorsOf(attention)
	if err != nil {
		return Gradients[T]{}, err
	}
	return b.attendBackward(c, dout)
}

func (b *batch[T]) attendBackward(c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	a, err := newTensorPass(b.units[0].attention, c)
	if err != nil {
		return Gradients[T]{}, err
	}
	if err := a.b.CanBackward(); err != nil {
		return Gradients[T]{}, err
	}
	if want := [4]int{a.Q.Batch, a.Q.Heads, a.Q.Rows, a.V.Cols}; dout.Shape() != want {
		return Gradients[T]{}, fmt.Errorf("performer: dout is %v, want %v, a gradient for each output", dout.Shape(), want)
	}
	dout.Check()
	for _, u := range a.b.units {
		if !takesMaskBackward(u.attention) {
			if err := a.checkNoMask(u.attention); err != nil {
				return Gradients[T]{}, err
			}
		}
	}
	if c.LearnBias && c.Bias.IsZero() {
		return Gradients[T]{}, errors.New("performer: LearnBias is set, but there is no Bias")
	}
	g := &tensorGradients[T]{tensorPass: a, dout: dout, Gradients: Gradients[T]{Q: like(a.Q), K: like(a.K), V: like(a.V)}}
	if c.LearnBias {
		g.pairs = dense.NewTensor[T](a.Q.Batch, a.Q.Heads, a.Q.Rows, a.Bias.Cols)
	}
	a.run(g, a.Q.Batch*a.K.Heads)
	if c.LearnBias {
		g.Bias = summed(g.pairs, a.Bias.Shape())
	}
	return g.Gradients, nil
}

// like returns a tensor of zeros of the shape of t.
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

// tensorGradients is a backward pass over tensors. A piece is a head of keys in a sequence, whose
// gradients are sums over the heads of queries that read it.
type tensorGradients[T dense.Float] struct {
	*tensorPass[T]
	Gradients[T]
	dout, pairs dense.Tensor[T] // pairs holds gradients of biases before sums over broadcast sides
}

func (g *tensorGradients[T]) Piece(i int) {
	b, keyHead := i/g.tensorPass.K.Heads, i%g.tensorPass.K.Heads
	group := g.tensorPass.Q.Heads / g.tensorPass.K.Heads
	dk, dv := dense.Head(g.Gradients.K, b, keyHead), dense.Head(g.Gradients.V, b, keyHead)
	for h := keyHead * group; h < (keyHead+1)*group; h++ {
		attention := g.b.Head(h)
		s := sequence.Backward[T]{
			Forward: g.arguments(b, h, attention), DQ: dense.Head(g.Gradients.Q, b, h), DOut: dense.Head(g.dout, b, h),
		}
		if g.LearnBias {
			s.Pairs.Gradient = dense.Head(g.pairs, b, h)
		}
		addBackward(attention, s, dk, dv, h == keyHead*group)
	}
}
