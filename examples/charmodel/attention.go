package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// attention is y = heads(x·Wq, x·Wk, x·Wv)·Wo, causal within each sequence of rows.
type attention[T dense.Float] struct {
	form      performer.Differentiable[T]
	heads     *performer.Batch[T]
	length    int        // of the sequences in the next batch
	in        *linear[T] // Wq, Wk and Wv side by side
	out       *linear[T] // Wo
	qkv       dense.Matrix[T]
	mix, dqkv buffer[T]
	lengths   []int // of the sequences in the last batch
}

// newAttention returns a layer. The variance of its outputs is scale² times the variance of the
// outputs of the heads.
func newAttention[T dense.Float](form performer.Differentiable[T], d, heads int, scale float64, src rand.Source) (*attention[T], error) {
	a := &attention[T]{in: newLinear[T](d, 3*d, 1, src), out: newLinear[T](d, d, scale, src)}
	return a, a.use(form, heads)
}

// use replaces the form of attention.
func (a *attention[T]) use(form performer.Differentiable[T], heads int) (err error) {
	a.form = form
	a.heads, err = performer.NewBatch[T](heads, heads, form)
	return err
}

// redraw replaces the features of linear attention.
func (a *attention[T]) redraw(phi rff.Map[T]) error {
	if _, ok := a.form.(*performer.Linear[T]); !ok {
		return fmt.Errorf("%T has no features to redraw", a.form)
	}
	form, err := performer.NewLinear(phi, performer.LinearOptions{Causal: true})
	if err != nil {
		return err
	}
	heads, _, _ := a.heads.Dims()
	return a.use(form, heads)
}

func (a *attention[T]) forward(x dense.Matrix[T]) dense.Matrix[T] {
	a.qkv = a.in.forward(x)
	q, k, v := thirds(a.qkv)
	return a.out.forward(a.heads.ForwardSequences(a.mix.shape(x.Rows, x.Cols), q, k, v, a.sequences()))
}

func (a *attention[T]) backward(dy dense.Matrix[T]) dense.Matrix[T] {
	dmix := a.out.backward(dy)
	dqkv := a.dqkv.shape(a.qkv.Rows, a.qkv.Cols)
	q, k, v := thirds(a.qkv)
	dq, dk, dv := thirds(dqkv)
	a.heads.BackwardSequences(dq, dk, dv, q, k, v, dmix, a.sequences())
	return a.in.backward(dqkv)
}

// sequences returns the lengths of the sequences in the last batch.
func (a *attention[T]) sequences() performer.Sequences {
	a.lengths = a.lengths[:0]
	for range a.qkv.Rows / a.length {
		a.lengths = append(a.lengths, a.length)
	}
	return performer.Sequences{Queries: a.lengths}
}

// thirds returns the first, second and last third of the columns of m.
func thirds[T dense.Float](m dense.Matrix[T]) (q, k, v dense.Matrix[T]) {
	d := m.Cols / 3
	return m.ColRange(0, d), m.ColRange(d, 2*d), m.ColRange(2*d, 3*d)
}

func (a *attention[T]) parameters() []*parameter[T] {
	return append(a.in.parameters(), a.out.parameters()...)
}

// mapNames are the feature maps of linear attention.
var mapNames = []string{"elu", "positive"}

// features returns one of mapNames for points of R^d: elu+1, or m positive random features of
// exp(qᵀk/√d) with orthogonal frequencies.
func features[T dense.Float](name string, m, d int, src rand.Source) (rff.Map[T], error) {
	phi, err := rff.ELU[T](d)
	if name == "positive" {
		w, wrong := orf.Draw[T](orf.GramSchmidt{}, m, d, src)
		if wrong != nil {
			return nil, wrong
		}
		phi, err = rff.SoftmaxPositive(w, 1/math.Sqrt(float64(d)))
	}
	return phi, err
}
