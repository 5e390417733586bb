package performer

import (
	"errors"
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// Gradients are what [AttendBackward] returns.
type Gradients[T dense.Float] struct {
	Q    dense.Tensor[T] // (B, H, Lq, d)
	K, V dense.Tensor[T] // (B, Hk, Lk, d) and (B, Hk, Lk, dv), for past keys and values first
	Bias dense.Tensor[T] // as Bias of the AttendArgs, if LearnBias is set, and otherwise zero
}

// AttendBackward returns the gradients of L = Σ dout·out with respect to queries, keys, values and
// biases of a call of [Attend], where dout (B, H, Lq, dv) is the gradient of L with respect to the
// outputs. With P and dS of [Exact.Backward] the gradient of a bias is Σ dS over the pairs that it
// serves. Gradients of keys that no query sees are zero, and so are those of queries that see no
// key. A query with a dout of zero has the gradient zero, and adds nothing to others, even if it
// holds NaN.
//
// The time is three to four times that of Attend. AttendBackward returns an error in the cases of
// Attend, if dout does not fit, if a form cannot be differentiated, and for LearnBias without Bias.
func AttendBackward[T dense.Float](attention Attention[T], c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	b, err := tensorsOf(attention)
	if err != nil {
		return Gradients[T]{}, err
	}
	return b.attendBackward(c, dout)
}

func (b *batch[T]) attendBackward(c AttendArgs[T], dout dense.Tensor[T]) (Gradients[T], error) {
	a, err := newTensorCall(b.units[0].attention, c)
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
		if !takesMasksBackward(u.attention) {
			if err := a.takesAll(u.attention); err != nil {
				return Gradients[T]{}, err
			}
		}
	}
	if c.LearnBias && c.Bias.IsZero() {
		return Gradients[T]{}, errors.New("performer: LearnBias is set, but there is no Bias")
	}
	g := &tensorGradients[T]{tensorCall: a, dout: dout, Gradients: Gradients[T]{Q: like(a.Q), K: like(a.K), V: like(a.V)}}
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

// summed returns the sums of t over the sides that are 1 in the shape, in a fixed order.
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

// tensorGradients is the task of gradients. A piece is a head of keys in a sequence, whose
// gradients are sums over the heads of queries that read it.
type tensorGradients[T dense.Float] struct {
	*tensorCall[T]
	Gradients[T]
	dout, pairs dense.Tensor[T] // pairs holds gradients of biases of all pairs
}

func (g *tensorGradients[T]) Piece(i int) {
	b, keyHead := i/g.tensorCall.K.Heads, i%g.tensorCall.K.Heads
	group := g.tensorCall.Q.Heads / g.tensorCall.K.Heads
	dk, dv := dense.Head(g.Gradients.K, b, keyHead), dense.Head(g.Gradients.V, b, keyHead)
	for h := keyHead * group; h < (keyHead+1)*group; h++ {
		if h == keyHead*group {
			g.head(b, h, dk, dv)
			continue
		}
		m, moreK, moreV := layout.TokensOf[T](dk.Rows, dk.Cols, dv.Cols)
		g.head(b, h, moreK, moreV)
		for j := range dk.Rows {
			vecmath.AddScaled(dk.Row(j), moreK.Row(j), 1)
			vecmath.AddScaled(dv.Row(j), moreV.Row(j), 1)
		}
		m.Release()
	}
}

// head writes the gradients of one head of queries.
func (g *tensorGradients[T]) head(b, h int, dk, dv dense.Matrix[T]) {
	attention := g.b.Head(h)
	p := gradientRequest[T]{
		request: g.request(b, h, attention),
		dq:      dense.Head(g.Gradients.Q, b, h), dk: dk, dv: dv, dout: dense.Head(g.dout, b, h),
	}
	if g.LearnBias {
		p.pairs.Gradient = dense.Head(g.pairs, b, h)
	}
	answerBackward(attention, p)
}
