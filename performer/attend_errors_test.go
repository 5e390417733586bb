package performer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// plainForm is a form of another package.
type plainForm struct{}

func (plainForm) Forward(dst, q, k, v dense.Matrix[float64]) dense.Matrix[float64] {
	return must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dst, q, k, v)
}

func TestAttendErrors(t *testing.T) {
	type tensor = dense.Tensor[float64]
	usual := func() performer.AttendArgs[float64] {
		return performer.AttendArgs[float64]{Q: dense.NewTensor[float64](2, 4, 3, 8), K: dense.NewTensor[float64](2, 2, 5, 8), V: dense.NewTensor[float64](2, 2, 5, 6)}
	}
	phi, err := rff.Draw[float64](rff.ELU{D: 8}, nil)
	require.NoError(t, err)
	linear, err := performer.NewLinear(phi, performer.LinearOptions{})
	require.NoError(t, err)
	narrow, err := rff.Draw[float64](rff.ELU{D: 7}, nil)
	require.NoError(t, err)
	other, err := performer.NewLinear(narrow, performer.LinearOptions{})
	require.NoError(t, err)
	batch, err := performer.NewBatch(performer.BatchOptions{Heads: 3}, performer.Attention[float64](must.Have(performer.NewExact[float64](performer.ExactOptions{}))))
	require.NoError(t, err)
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	for _, c := range []struct {
		form performer.Attention[float64]
		with func(*performer.AttendArgs[float64])
		want string
	}{
		{nil, func(c *performer.AttendArgs[float64]) {}, "performer: attention 0 is nil"},
		{exact, func(c *performer.AttendArgs[float64]) { c.K = dense.NewTensor[float64](2, 3, 5, 8) },
			"performer: Q is [2 4 3 8], K is [2 3 5 8], V is [2 2 5 6], want (B, H, Lq, d), (B, Hk, L, d), (B, Hk, L, dv), H a multiple of Hk"},
		{exact, func(c *performer.AttendArgs[float64]) { *c = performer.AttendArgs[float64]{} }, "want (B, H, Lq, d), (B, Hk, L, d), (B, Hk, L, dv), H a multiple of Hk"},
		{exact, func(c *performer.AttendArgs[float64]) { c.PastK = dense.NewTensor[float64](2, 2, 4, 8) },
			"performer: PastK is [2 2 4 8], PastV is [0 0 0 0], K is [2 2 5 8], V is [2 2 5 6], want one number of past keys and values, and else the sides of K and V"},
		{exact, func(c *performer.AttendArgs[float64]) {
			c.PastK, c.PastV, c.Lengths = dense.NewTensor[float64](2, 2, 4, 8), dense.NewTensor[float64](2, 2, 4, 6), []int{1, 2}
		}, "performer: there are PastK and Lengths, want one of them"},
		{exact, func(c *performer.AttendArgs[float64]) { c.Lengths = []int{1} }, "performer: Lengths has length 1, want one for each of 2 sequences"},
		{exact, func(c *performer.AttendArgs[float64]) { c.Lengths = []int{1, 6} }, "performer: Lengths has 6 at 1, want 0 to 5 keys"},
		{exact, func(c *performer.AttendArgs[float64]) { c.Mask = dense.NewTensor[bool](1, 3, 3, 5) }, "performer: Mask is [1 3 3 5], want sides of 1 or of [2 4 3 5]"},
		{exact, func(c *performer.AttendArgs[float64]) { c.Bias = dense.NewTensor[float64](1, 1, 3, 6) }, "performer: Bias is [1 1 3 6], want at most 5 columns, one for each key"},
		{exact, func(c *performer.AttendArgs[float64]) { c.Scores = 5 }, "performer: Scores = 5, want one of NoScores to ScoresAfterSoftmax"},
		{exact, func(c *performer.AttendArgs[float64]) { c.Out = dense.NewTensor[float64](2, 4, 3, 8) }, "performer: Out is [2 4 3 8], want [2 4 3 6]"},
		{batch, func(c *performer.AttendArgs[float64]) {}, "performer: Q is [2 4 3 8], K is [2 2 5 8], want heads of a Batch of 3 heads of queries and 3 of keys"},
		{other, func(c *performer.AttendArgs[float64]) {}, "performer: Q is [2 4 3 8], but the attention takes points of R^7"},
		{linear, func(c *performer.AttendArgs[float64]) { c.Bias = dense.NewTensor[float64](1, 1, 3, 5) },
			"performer: Bias is [1 1 3 5] for performer.Linear[float64], want an Exact, which has scores"},
		{linear, func(c *performer.AttendArgs[float64]) { c.Mask = dense.NewTensor[bool](1, 1, 3, 5) },
			"performer: Mask is [1 1 3 5] for performer.Linear[float64], want an Exact, which has scores, or a Mask with one row"},
		{linear, func(c *performer.AttendArgs[float64]) { c.Scores = performer.ScoresAfterSoftmax },
			"performer: Scores = 4 for performer.Linear[float64], want an Exact, which has scores"},
		{plainForm{}, func(c *performer.AttendArgs[float64]) {
			c.PastK, c.PastV = dense.NewTensor[float64](2, 2, 4, 8), dense.NewTensor[float64](2, 2, 4, 6)
		}, "performer: sequence 0 has a past of 4, which performer_test.plainForm cannot take"},
		{plainForm{}, func(c *performer.AttendArgs[float64]) { c.Mask = dense.NewTensor[bool](2, 1, 1, 5) },
			"performer: sequence 0 has keys that do not count, which performer_test.plainForm cannot take"},
	} {
		all := usual()
		c.with(&all)
		_, err := performer.Attend(c.form, all)
		assert.ErrorContains(t, err, c.want)
	}
	all := usual()
	_, err = performer.AttendBackward(exact, all, dense.NewTensor[float64](2, 4, 3, 8))
	assert.EqualError(t, err, "performer: dout is [2 4 3 8], want [2 4 3 6], a gradient for each output")
	all.LearnBias = true
	_, err = performer.AttendBackward(exact, all, dense.NewTensor[float64](2, 4, 3, 6))
	assert.EqualError(t, err, "performer: LearnBias is set, but there is no Bias")
	_, err = performer.AttendBackward(plainForm{}, usual(), dense.NewTensor[float64](2, 4, 3, 6))
	assert.ErrorContains(t, err, "performer_test.plainForm has no derivatives")
	all = usual()
	all.Q = tensor{Batch: 2, Heads: 4, Rows: 3, Cols: 8, BatchStride: 96, HeadStride: 24, Stride: 8, Data: make([]float64, 191)}
	assert.PanicsWithValue(t, "dense: 191 elements cannot hold a tensor of [2 4 3 8] with strides [96 24 8 1]", func() { _, _ = performer.Attend(exact, all) })
}

// A Batch has its own form for each head, and outputs go where Out says.
func TestAttendBatch(t *testing.T) {
	form, all := call[float64](attendCase{heads: 2, group: 1, lq: 4, lk: 6}, rand.New(rand.NewPCG(900, 6)))
	flatter := with(form, func(o *performer.ExactOptions) { o.Scale = 0.1 })
	b, err := performer.NewBatch(performer.BatchOptions{Heads: 2}, performer.Attention[float64](form), performer.Attention[float64](flatter))
	require.NoError(t, err)
	all.Out = dense.SplitHeads(dense.New[float64](2*4, 2*5), 2, 2)
	got, err := performer.Attend(b, all)
	require.NoError(t, err)
	assert.Equal(t, all.Out, got.Out)
	for s := range 2 {
		for h, e := range []performer.Exact[float64]{form, flatter} {
			want := e.Forward(dense.Matrix[float64]{}, dense.Head(all.Q, s, h), dense.Head(all.K, s, h), dense.Head(all.V, s, h))
			assert.Equal(t, want, dense.Head(got.Out, s, h).Clone())
		}
	}
}

// A Softcap beyond the range of float32 leaves outputs and gradients as they are.
func TestSoftcapBeyondRange(t *testing.T) {
	form, all := call[float32](attendCase{heads: 2, group: 1, lq: 5, lk: 7}, rand.New(rand.NewPCG(903, 6)))
	dout := normalTensor[float32](rand.New(rand.NewPCG(904, 6)), 2, 2, 5, 5, false)
	want, err := performer.Attend(form, all)
	require.NoError(t, err)
	wantG, err := performer.AttendBackward(form, all, dout)
	require.NoError(t, err)
	form = with(form, func(o *performer.ExactOptions) { o.Softcap = 1e39 })
	got, err := performer.Attend(form, all)
	require.NoError(t, err)
	gotG, err := performer.AttendBackward(form, all, dout)
	require.NoError(t, err)
	assert.Equal(t, want.Out, got.Out)
	assert.Equal(t, wantG, gotG)
}
