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
