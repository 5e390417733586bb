package performer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// foreignMap is a map of another package, whose features are those of its function.
type foreignMap func(dst, x dense.Matrix[float64]) dense.Matrix[float64]

func (foreignMap) Dims() (in, out int)    { return 2, 3 }
func (foreignMap) Kernel() kernels.Kernel { return nil }
func (m foreignMap) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	return m(dst, x)
}

// TestForeignMaps: a map of another package that breaks the contract of rff.Map is named.
func TestForeignMaps(t *testing.T) {
	x := dense.New[float64](5, 2)
	for want, phi := range map[string]foreignMap{
		"performer: features of performer_test.foreignMap are 5×4 for points of 5×2, want 5×3": func(_, x dense.Matrix[float64]) dense.Matrix[float64] {
			return dense.New[float64](x.Rows, 4)
		},
		"performer: features of performer_test.foreignMap are 1×3 for points of 5×2, want 5×3": func(_, x dense.Matrix[float64]) dense.Matrix[float64] {
			return dense.New[float64](1, 3)
		},
		"performer: performer_test.foreignMap returns its features in other memory, want them in dst": func(_, x dense.Matrix[float64]) dense.Matrix[float64] {
			return dense.New[float64](x.Rows, 3)
		},
	} {
		for _, causal := range []bool{false, true} {
			form, err := performer.NewLinear[float64](phi, performer.LinearOptions{Causal: causal})
			require.NoError(t, err)
			assert.PanicsWithValue(t, want, func() { form.Forward(dense.Matrix[float64]{}, x, x, x) })
		}
	}
}

// wrapped is attention of another package, used by pointer.
type wrapped struct{ performer.Attention[float64] }

// TestNilForms: a nil pointer to a form is no form.
func TestNilForms(t *testing.T) {
	for _, form := range []performer.Attention[float64]{
		nil, (*wrapped)(nil),
	} {
		_, err := performer.NewBatch(performer.BatchOptions{Heads: 1}, form)
		assert.EqualError(t, err, "performer: attention 0 is nil", "%T", form)
		_, err = performer.Attend(form, performer.AttendArgs[float64]{})
		assert.EqualError(t, err, "performer: attention 0 is nil", "%T", form)
	}
}

// louder embeds exact attention, and has a Forward of its own.
type louder struct{ performer.Exact[float64] }

func (a louder) Forward(dst, q, k, v dense.Matrix[float64]) dense.Matrix[float64] {
	dst = a.Exact.Forward(dst, q, k, v)
	for i := range dst.Rows {
		for j := range dst.Row(i) {
			dst.Row(i)[j] *= 2
		}
	}
	return dst
}

// TestEmbeddedAttention: NewBatch and Attend call Forward of a type that embeds attention.
func TestEmbeddedAttention(t *testing.T) {
	x := dense.Of(3, 2, []float64{1, 2, 3, 4, 5, 6})
	a := louder{must.Have(performer.NewExact[float64](performer.ExactOptions{}))}
	want := a.Forward(dense.Matrix[float64]{}, x, x, x)
	b := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, a))
	assert.Equal(t, want, b.Forward(dense.Matrix[float64]{}, x, x, x))
	assert.EqualError(t, b.CanBackward(), "performer: performer_test.louder has no derivatives")
	s := dense.SplitHeads(x, 1, 1)
	assert.Equal(t, want.Data, must.Have(performer.Attend(a, performer.AttendArgs[float64]{Q: s, K: s, V: s})).Out.Data)
}

// TestZeroAttention: attention that no constructor has made is refused.
func TestZeroAttention(t *testing.T) {
	const zero = "performer: the attention is zero, want one of a constructor"
	var b performer.Batch[float64]
	x := dense.New[float64](1, 1)
	assert.PanicsWithValue(t, zero, func() { b.Forward(x, x, x, x) })
	assert.Zero(t, b.Describe())
	for _, a := range []performer.Attention[float64]{b, performer.Exact[float64]{}, performer.Linear[float64]{}} {
		_, err := performer.NewBatch(performer.BatchOptions{Heads: 2, KeyHeads: 1}, a)
		assert.EqualError(t, err, "performer: attention 0 is nil")
	}
}

// TestAttendWithoutElements: strides of tensors without elements say nothing.
func TestAttendWithoutElements(t *testing.T) {
	phi, err := rff.Draw[float64](rff.ELU{D: 2}, nil)
	require.NoError(t, err)
	linear, err := performer.NewLinear(phi, performer.LinearOptions{})
	require.NoError(t, err)
	far := func(x dense.Tensor[float64]) dense.Tensor[float64] {
		x.Stride, x.HeadStride, x.BatchStride = math.MaxInt, math.MaxInt, math.MaxInt
		return x
	}
	none := func(sides ...int) dense.Tensor[float64] {
		return far(dense.NewTensor[float64](sides[0], sides[1], sides[2], sides[3]))
	}
	k, q := dense.NewTensor[float64](1, 1, 3, 2), dense.NewTensor[float64](1, 2, 4, 2)
	for _, form := range []performer.Attention[float64]{linear, must.Have(performer.NewExact[float64](performer.ExactOptions{}))} {
		r, err := performer.Attend(form, performer.AttendArgs[float64]{Q: none(1, 2, 0, 2), K: k, V: k, Out: none(1, 2, 0, 2)})
		require.NoError(t, err)
		assert.Equal(t, [4]int{1, 2, 0, 2}, r.Out.Shape())
		r, err = performer.Attend(form, performer.AttendArgs[float64]{Q: q, K: k, V: none(1, 1, 3, 0), Out: none(1, 2, 4, 0)})
		require.NoError(t, err)
		assert.Equal(t, [4]int{1, 2, 4, 0}, r.Out.Shape())
		want, err := performer.Attend(form, performer.AttendArgs[float64]{Q: q, K: k, V: k})
		require.NoError(t, err)
		r, err = performer.Attend(form, performer.AttendArgs[float64]{Q: q, K: k, V: k, PastK: none(1, 1, 0, 2), PastV: none(1, 1, 0, 2)})
		require.NoError(t, err)
		assert.Equal(t, want, r)
	}
}
