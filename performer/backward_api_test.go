package performer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// A form that only has Forward.
type forwardOnly struct{}

func (forwardOnly) Forward(dst, _, _, v dense.Matrix[float32]) dense.Matrix[float32] {
	return dense.Copy(dst, v)
}

// features of float32 without derivatives of their logarithms.
type halfDifferentiable struct{ logRowMap[float32] }

func (halfDifferentiable) CanBackward() error { return nil }

func (halfDifferentiable) Backward(dst, _, _ dense.Matrix[float32]) dense.Matrix[float32] { return dst }

func TestCanBackward(t *testing.T) {
	elu := must.Have(rff.Draw[float32](rff.ELU{D: 3}, nil))
	half := halfDifferentiable{logRowMap[float32]{rowMap[float32]{in: 3, out: 3}}}
	unknown := must.Have(rff.New(rff.Scheme[float32]{F: []func(float32) float32{func(x float32) float32 { return x }}}, maptest.Frequencies[float32](3, 3)))
	for _, c := range []struct {
		query, key rff.Map[float32]
		want       string
	}{
		{elu, elu, ""},
		{reLU[float32](3), elu, "performer: queries: performer_test.rowMap[float32] has no derivatives, want an rff.Differentiable"},
		{elu, reLU[float32](3), "performer: keys: performer_test.rowMap[float32] has no derivatives, want an rff.Differentiable"},
		{half, elu, "performer: queries: performer_test.halfDifferentiable has logarithms without derivatives, want an rff.DifferentiableLog"},
		{unknown, unknown, "performer: queries: " + unknown.(rff.Differentiable[float32]).CanBackward().Error()},
	} {
		a := must.Have(performer.NewLinearOf(c.query, c.key, performer.LinearOptions{}))
		x := dense.New[float32](2, 3)
		if c.want == "" {
			assert.NoError(t, a.CanBackward())
			assert.NoError(t, must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, a)).CanBackward())
			continue
		}
		assert.EqualError(t, a.CanBackward(), c.want)
		assert.EqualError(t, must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, a)).CanBackward(), c.want)
		assert.PanicsWithValue(t, c.want, func() { a.Backward(x, x, x, x, x, x, x) })
		assert.PanicsWithValue(t, c.want, func() {
			must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 1}, a)).Backward(x, x, x, x, x, x, x)
		})
	}
	assert.NoError(t, must.Have(performer.NewExact[float32](performer.ExactOptions{})).CanBackward())
	assert.EqualError(t, must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, forwardOnly{})).CanBackward(),
		"performer: performer_test.forwardOnly has no derivatives")
}

// Without tokens or values there is nothing to learn from.
func TestBackwardOfNothing(t *testing.T) {
	for _, form := range everyForm[float64](4) {
		for _, size := range [][3]int{{0, 0, 2}, {5, 5, 0}, {5, 0, 2}, {0, 5, 2}} {
			a, linear := form.(performer.Linear[float64])
			causal := linear && performer.InsideOf(a).Options.Causal
			if e, ok := form.(performer.Exact[float64]); ok {
				causal = e.Options().Causal
			}
			if causal && size[0] != size[1] {
				continue
			}
			dq, dk, dv := densetest.Filled(size[0], 4, 7.0), densetest.Filled(size[1], 4, 7.0), densetest.Filled(size[1], size[2], 7.0)
			form.(differentiable[float64]).Backward(dq, dk, dv, densetest.Filled(size[0], 4, 1.0), densetest.Filled(size[1], 4, 1.0), densetest.Filled(size[1], size[2], 1.0), densetest.Filled(size[0], size[2], 1.0))
			for _, g := range []dense.Matrix[float64]{dq, dk, dv} {
				assert.Equal(t, dense.New[float64](g.Rows, g.Cols), g, "%T %v", form, size)
			}
		}
	}
}
