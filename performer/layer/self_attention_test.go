package layer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/rff"
)

// A layer of one head and no output projection is the form over its projections, in any form,
// with biases and without.
func TestSingleHead(t *testing.T) {
	densetest.Both(t, testSingleHead[float32], testSingleHead[float64])
}

func testSingleHead[T dense.Float](t *testing.T) {
	const n, in, d, dv = 70, 5, 4, 5
	rng := rand.New(densetest.Source(60))
	x := densetest.Normal[T](rng, n, in, 0, 0.5)
	biased := layer.Projections[T]{
		Query: densetest.Normal[T](rng, d, in, 0, 0.4), Key: densetest.Normal[T](rng, d, in, 0, 0.4), Value: densetest.Normal[T](rng, dv, in, 0, 0.4),
		QueryBias: densetest.Normal[T](rng, 1, d, 0, 1).Data, KeyBias: densetest.Normal[T](rng, 1, d, 0, 1).Data, ValueBias: densetest.Normal[T](rng, 1, dv, 0, 1).Data,
	}
	for _, form := range everyForm[T](d) {
		for _, p := range []layer.Projections[T]{biased, {Query: biased.Query, Key: biased.Key, Value: biased.Value}} {
			l := must.Have(layer.New(p, batch(1, 1, form), layer.Options{}))
			query, key, value, out := l.Dims()
			assert.Equal(t, [4]int{in, in, in, dv}, [4]int{query, key, value, out})
			got := l.Forward(dense.Matrix[T]{}, x, performer.Sequences{})

			q, k, v := product(x, p.Query, p.QueryBias), product(x, p.Key, p.KeyBias), product(x, p.Value, p.ValueBias)
			want := dense.Copy(dense.Matrix[float64]{}, form.Forward(dense.Matrix[T]{}, q, k, v))
			// Q, K and V differ by in+1 roundings of terms of order one; the outputs
			// move with them by at most the size of the weights and values, ≤ 100.
			size := 1.0
			for _, y := range want.Data {
				size = max(size, y, -y)
			}
			densetest.RequireClose(t, want, densetest.Filled(n, dv, 100*(in+1)*size*densetest.Roundoff[T]()), got, "%T biased=%v", form, p.QueryBias != nil)
			assert.Equal(t, got, l.Forward(x.Clone(), x, performer.Sequences{}), "into other memory")
			y := x.Clone()
			assert.Equal(t, got, l.Forward(y, y, performer.Sequences{}), "dst is x")
		}
	}
}

func TestSingleHeadBackward(t *testing.T) {
	const n, in, d, dv = 70, 5, 4, 5
	rng := rand.New(densetest.Source(232))
	x, dout := densetest.Normal[float64](rng, n, in, 0, 0.5), densetest.Normal[float64](rng, n, dv, 0, 1)
	p := layer.Projections[float64]{
		Query: densetest.Normal[float64](rng, d, in, 0, 0.4), Key: densetest.Normal[float64](rng, d, in, 0, 0.4), Value: densetest.Normal[float64](rng, dv, in, 0, 0.4),
		QueryBias: densetest.Normal[float64](rng, 1, d, 0, 1).Data, KeyBias: densetest.Normal[float64](rng, 1, d, 0, 1).Data, ValueBias: densetest.Normal[float64](rng, 1, dv, 0, 1).Data,
	}
	var none dense.Matrix[float64]
	for _, form := range everyForm[float64](d) {
		l := must.Have(layer.New(p, batch(1, 1, form), layer.Options{}))
		loss := func() float64 { return lossOf(l.Forward(none, x, performer.Sequences{}), dout) }
		dw := &layer.Projections[float64]{QueryBias: densetest.Filled(1, d, 9.0).Data, Value: densetest.Filled(dv, in, 9.0)}
		dx := l.Backward(none, dw, x, dout, performer.Sequences{})
		requirePartials(t, x.Data, dx.Data, loss, "%T %+v: x", form, form)
		for i, g := range dw.Parameters() {
			requirePartials(t, l.Projections().Parameters()[i].Value.Data, g.Value.Data, loss, "%T %+v: %s", form, form, g.Name)
		}
		y := x.Clone()
		assert.Equal(t, dx, l.Backward(y, nil, y, dout, performer.Sequences{}), "dx is x")
		y = dout.Clone()
		assert.Equal(t, dx, l.Backward(y, nil, x, y, performer.Sequences{}), "dx is dout")
	}
}

// The same seed makes the same layer, which is what New makes of its projections, and weights lie
// within their bounds.
func TestLinearSelfAttention(t *testing.T) {
	densetest.Both(t, testLinearSelfAttention[float32], testLinearSelfAttention[float64])
}

func testLinearSelfAttention[T dense.Float](t *testing.T) {
	const in, out = 6, 4
	x := densetest.Normal[T](rand.New(densetest.Source(240)), 30, in, 0, 1)
	var s performer.Sequences
	for _, bias := range []bool{true, false} {
		l := must.Have(layer.NewLinearSelfAttention[T](in, out, bias, densetest.Source(241)))
		got := l.Forward(dense.Matrix[T]{}, x, s)
		assert.Equal(t, got, must.Have(layer.NewLinearSelfAttention[T](in, out, bias, densetest.Source(241))).Forward(dense.Matrix[T]{}, x, s))
		p := l.Projections()
		assert.Equal(t, bias, p.QueryBias != nil)
		same := must.Have(layer.New(p, batch[T](1, 1, must.Have(performer.NewLinear[T](must.Have(rff.Draw[T](rff.ELU{D: out}, nil)), performer.LinearOptions{}))), layer.Options{}))
		assert.Equal(t, got, same.Forward(dense.Matrix[T]{}, x, s))
		q, k, v := product(x, p.Query, p.QueryBias), product(x, p.Key, p.KeyBias), product(x, p.Value, p.ValueBias)
		want := dense.Copy(dense.Matrix[float64]{}, must.Have(performer.NewLinear[T](must.Have(rff.Draw[T](rff.ELU{D: out}, nil)), performer.LinearOptions{})).Forward(dense.Matrix[T]{}, q, k, v))
		densetest.RequireClose(t, want, densetest.Filled(30, out, 100*densetest.Roundoff[T]()), got, "bias=%v", bias)
		for _, m := range l.Projections().Parameters() {
			for i := range m.Value.Rows {
				for _, w := range m.Value.Row(i) {
					assert.LessOrEqual(t, math.Abs(float64(w)), 1/math.Sqrt(in))
				}
			}
		}
	}
	_, err := layer.NewLinearSelfAttention[T](0, 3, true, densetest.Source(1))
	assert.EqualError(t, err, "layer: in = 0, out = 3, want at least 1")
	_, err = layer.NewLinearSelfAttention[T](2, 3, true, nil)
	assert.EqualError(t, err, "layer: src is nil")
}
