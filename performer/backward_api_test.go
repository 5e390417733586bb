package performer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestBackwardShapes(t *testing.T) {
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	heads := must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, must.Have(performer.NewExact[float32](performer.ExactOptions{}))))
	for _, form := range []differentiable[float32]{attention(maptest.Positive[float32](8, 4), performer.LinearOptions{}), must.Have(performer.NewExact[float32](performer.ExactOptions{})), heads} {
		for want, f := range map[string]func(){
			"performer: dout is 5×3, q is 5×4, v is 6×2, want 5×2, a gradient for each output": func() { form.Backward(none, none, none, mat(5, 4), mat(6, 4), mat(6, 2), mat(5, 3)) },
			"performer: dout is 6×2, q is 5×4, v is 6×2, want 5×2, a gradient for each output": func() { form.Backward(none, none, none, mat(5, 4), mat(6, 4), mat(6, 2), mat(6, 2)) },
			"performer: k is 6×4, v is 7×2, want as many values as keys":                       func() { form.Backward(none, none, none, mat(5, 4), mat(6, 4), mat(7, 2), mat(5, 2)) },
			"dense: destination is 5×5, want 5×4":                                              func() { form.Backward(mat(5, 5), none, none, mat(5, 4), mat(6, 4), mat(6, 2), mat(5, 2)) },
			"dense: destination is 5×4, want 6×4":                                              func() { form.Backward(none, mat(5, 4), none, mat(5, 4), mat(6, 4), mat(6, 2), mat(5, 2)) },
			"dense: destination is 6×4, want 6×2":                                              func() { form.Backward(none, none, mat(6, 4), mat(5, 4), mat(6, 4), mat(6, 2), mat(5, 2)) },
		} {
			assert.PanicsWithValue(t, want, f)
		}
	}
	assert.PanicsWithValue(t, "performer: q is 5×4, k is 5×4, v is 5×3, want columns of 2 heads of queries and 2 of keys and values",
		func() { heads.Backward(none, none, none, mat(5, 4), mat(5, 4), mat(5, 3), mat(5, 3)) })
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

// Gradients are columns of wider matrices, as those of heads are.
func TestStridedGradients(t *testing.T) {
	densetest.Both(t, testStridedGradients[float32], testStridedGradients[float64])
}

func testStridedGradients[T dense.Float](t *testing.T) {
	const n, d = 150, 4
	rng := rand.New(densetest.Source(230))
	in := [3]dense.Matrix[T]{stridedRows[T](rng, n, d), stridedRows[T](rng, n, d), stridedRows[T](rng, n, d)}
	dout := stridedRows[T](rng, n, d)
	for _, form := range everyForm[T](d) {
		want := backward(form, in, dout)
		wide := [3]dense.Matrix[T]{densetest.Filled[T](n, 9, 77), densetest.Filled[T](n, 9, 77), densetest.Filled[T](n, 9, 77)}
		form.(differentiable[T]).Backward(wide[0].ColRange(2, 6), wide[1].ColRange(2, 6), wide[2].ColRange(2, 6), in[0], in[1], in[2], dout)
		for at, w := range wide {
			assert.Equal(t, want[at], w.ColRange(2, 6).Clone(), "%T", form)
			assert.Equal(t, densetest.Filled[T](n, 2, 77), w.ColRange(0, 2).Clone(), "columns before")
			assert.Equal(t, densetest.Filled[T](n, 3, 77), w.ColRange(6, 9).Clone(), "columns after")
		}
	}
}

func TestHeadsBackward(t *testing.T) {
	densetest.Both(t, testHeadsBackward[float32], testHeadsBackward[float64])
}

func testHeadsBackward[T dense.Float](t *testing.T) {
	const n, d, dv = 200, 4, 3
	rng := rand.New(densetest.Source(231))
	for _, heads := range []int{1, 2, 5} {
		in := [3]dense.Matrix[T]{rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, heads*dv)}
		dout := densetest.Normal[T](rng, n, heads*dv, 0, 1)
		for _, form := range everyForm[T](d) {
			all := backward[T](must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads}, form)), in, dout)
			for h := range heads {
				of := func(m dense.Matrix[T]) dense.Matrix[T] {
					w := m.Cols / heads
					return m.ColRange(h*w, (h+1)*w)
				}
				one := backward(form, [3]dense.Matrix[T]{of(in[0]), of(in[1]), of(in[2])}, of(dout))
				for at := range one {
					require.True(t, densetest.Identical(one[at], of(all[at])), "%T head %d of %d: input %d", form, h, heads, at)
				}
			}
		}
	}
}
