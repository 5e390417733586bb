package layer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// sines returns ½·sin(0.7·i + a) for i = 0, 1, …: weights and inputs of golden numbers.
func sines[T dense.Float](r, c int, a float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(math.Sin(float64(i)*0.7+a) * 0.5)
	}
	return m
}

// goldenProjections are those of nn.MultiheadAttention(4, 2), whose state dict in the
// order of names was filled with sines from 1, 2, 3 and 4 on.
func goldenProjections[T dense.Float]() layer.Projections[T] {
	b, w := sines[T](1, 12, 1).Data, sines[T](12, 4, 2)
	return layer.Projections[T]{
		Query: w.RowRange(0, 4), Key: w.RowRange(4, 8), Value: w.RowRange(8, 12), Output: sines[T](4, 4, 4),
		QueryBias: b[:4], KeyBias: b[4:8], ValueBias: b[8:], OutputBias: sines[T](1, 4, 3).Data,
	}
}

// Outputs of nn.MultiheadAttention of PyTorch 1.13 in float64, for two sequences of three
// rows: self-attention, the same with key_padding_mask, and with a causal attn_mask.
//
//ci:portable
func TestMultiHeadGolden(t *testing.T) {
	densetest.Both(t, testMultiHeadGolden[float32], testMultiHeadGolden[float64])
}

func testMultiHeadGolden[T dense.Float](t *testing.T) {
	x, lengths := sines[T](6, 4, 0.25), []int{3, 3}
	for name, c := range map[string]struct {
		form  performer.Attention[T]
		valid []bool
		want  []float64
	}{
		"self": {must.Have(performer.NewExact[T](performer.ExactOptions{})), nil, []float64{
			-0.4498016113450863, 0.31781621770099605, -1.053569951516772, 0.04313192878815686,
			-0.44004989249778576, 0.29925515260681473, -1.0283443699673867, 0.014156780897958299,
			-0.4395060232574323, 0.3111111339993167, -1.051230180284875, 0.04542784303634151,
			-0.4165835192703124, 0.30130010069052765, -1.055664334734824, 0.06359479511456523,
			-0.3981773035647063, 0.285291114060146, -1.0439025007312073, 0.057439256214058876,
			-0.42891339457248107, 0.3117083980636752, -1.0629483200592602, 0.0669127651449909,
		}},
		"padding": {must.Have(performer.NewExact[T](performer.ExactOptions{})), []bool{true, false, true, true, true, false}, []float64{
			-0.48035445617728084, 0.3285749623187348, -1.0432913657573415, 0.01300375790438979,
			-0.4806610367294944, 0.32908318373339457, -1.0439425003469256, 0.013722563603906335,
			-0.47915498799796136, 0.32710996424499234, -1.0417301261084277, 0.011526686225443727,
			-0.43255236071618924, 0.2939152646803615, -1.0257791783470411, 0.014662707118840324,
			-0.4160135004682918, 0.2833781259832983, -1.0224613836207443, 0.018947645190164508,
			-0.44756512687955946, 0.30643241466010823, -1.0343542888885064, 0.018304878590837348,
		}},
		"causal": {must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), nil, []float64{
			-0.4677581753538787, 0.3356110410527052, -1.0691467477284446, 0.054690716209809476,
			-0.41537820654056723, 0.2897770005030487, -1.0351550026037575, 0.03646919344987554,
			-0.4395060232574323, 0.3111111339993167, -1.051230180284875, 0.04542784303634151,
			-0.3511168477294518, 0.26981255751505234, -1.061794473010281, 0.10663424475908823,
			-0.4160135004682918, 0.2833781259832983, -1.0224613836207443, 0.018947645190164508,
			-0.42891339457248107, 0.3117083980636752, -1.0629483200592602, 0.0669127651449909,
		}},
	} {
		l := must.Have(layer.New(goldenProjections[T](), batch(2, 2, c.form), layer.Options{}))
		requireGolden(t, c.want, l.Forward(dense.Matrix[T]{}, x, performer.Sequences{Queries: lengths, Valid: c.valid}), name)
	}

	// nn.MultiheadAttention(4, 2, kdim=3, vdim=5), with 2 queries and 3 keys.
	b := sines[T](1, 12, 1).Data
	l := must.Have(layer.New(layer.Projections[T]{
		Query: sines[T](4, 4, 5), Key: sines[T](4, 3, 2), Value: sines[T](4, 5, 6), Output: sines[T](4, 4, 4),
		QueryBias: b[:4], KeyBias: b[4:8], ValueBias: b[8:], OutputBias: sines[T](1, 4, 3).Data,
	}, exactBatch[T](2, 2), layer.Options{}))
	requireGolden(t, []float64{
		-0.4277058677072983, 0.2827639381115465, -1.0096116133134732, -0.004652848250026986,
		-0.43935283050684665, 0.28731662762947524, -1.006543942061766, -0.014986394542327142,
	}, l.ForwardCross(dense.Matrix[T]{}, sines[T](2, 4, 0.25), sines[T](3, 3, 0.5), sines[T](3, 5, 0.75), performer.Sequences{}), "cross")
}

// requireGolden fails unless got is want to a dozen roundings of terms below 2.
func requireGolden[T dense.Float](t *testing.T, want []float64, got dense.Matrix[T], what string) {
	t.Helper()
	requireRounded(t, want, got, 15, what)
}

// requireRounded fails unless got is want to so many roundings of terms below 2.
func requireRounded[T dense.Float](t *testing.T, want []float64, got dense.Matrix[T], roundings float64, what string) {
	t.Helper()
	require.Len(t, got.Data, len(want), what)
	for i, x := range got.Data {
		require.InDelta(t, want[i], float64(x), 2*roundings*densetest.Roundoff[T](), "%s, element %d", what, i)
	}
}

// product returns x·wᵀ + b, computed in float64 and rounded once.
func product[T dense.Float](x, w dense.Matrix[T], b []T) dense.Matrix[T] {
	y := dense.New[T](x.Rows, w.Rows)
	for i := range y.Rows {
		for j := range y.Cols {
			sum := 0.0
			if b != nil {
				sum = float64(b[j])
			}
			for c := range x.Cols {
				sum += float64(x.At(i, c)) * float64(w.At(j, c))
			}
			y.Set(i, j, T(sum))
		}
	}
	return y
}

// The layer has copies of its projections; what is written into its parameters it uses.
func TestMultiHeadParameters(t *testing.T) {
	normed := func() layer.Projections[float64] {
		p := goldenProjections[float64]()
		p.QueryNorm, p.KeyNorm = []float64{1, 2}, []float64{3, 4, 5, 6}
		return p
	}
	p := normed()
	l := must.Have(layer.New(p, exactBatch[float64](2, 2), layer.Options{}))
	x := sines[float64](3, 4, 0.25)
	before := l.Forward(dense.Matrix[float64]{}, x, performer.Sequences{})
	p.Query.Set(0, 0, 9)
	p.OutputBias[0], p.QueryNorm[0], p.KeyNorm[0] = 9, 9, 9
	assert.Equal(t, before, l.Forward(dense.Matrix[float64]{}, x, performer.Sequences{}), "copies")

	var names []string
	for _, parameter := range l.Projections().Parameters() {
		names = append(names, parameter.Name)
		parameter.Value.Set(0, 0, 0)
	}
	assert.Equal(t, []string{
		"q_proj_weight", "q_proj_bias", "k_proj_weight", "k_proj_bias",
		"v_proj_weight", "v_proj_bias", "out_proj.weight", "out_proj.bias", "q_norm.weight", "k_norm.weight",
	}, names)
	changed := normed()
	for _, m := range []dense.Matrix[float64]{changed.Query, changed.Key, changed.Value, changed.Output} {
		m.Data[0] = 0
	}
	for _, b := range [][]float64{changed.QueryBias, changed.KeyBias, changed.ValueBias, changed.OutputBias, changed.QueryNorm, changed.KeyNorm} {
		b[0] = 0
	}
	want := must.Have(layer.New(changed, exactBatch[float64](2, 2), layer.Options{})).Forward(dense.Matrix[float64]{}, x, performer.Sequences{})
	assert.NotEqual(t, before, want)
	assert.Equal(t, want, l.Forward(dense.Matrix[float64]{}, x, performer.Sequences{}), "views")
}

func TestNewMultiHeadErrors(t *testing.T) {
	good := must.Have(layer.Draw[float32](layer.Widths{Input: 8, Heads: 4, KeyHeads: 2, Bias: true}, densetest.Source(1)))
	mat := dense.New[float32]
	exact := exactBatch[float32](4, 2)
	for want, change := range map[string]func(p *layer.Projections[float32]){
		"layer: Query is 0×0, want at least 1×1":                                            func(p *layer.Projections[float32]) { p.Query, p.QueryBias = mat(0, 0), nil },
		"layer: QueryBias has length 7, Query is 8×8, want an element for each row":         func(p *layer.Projections[float32]) { p.QueryBias = p.QueryBias[:7] },
		"layer: OutputBias has length 8, Output is 0×0, want an element for each row":       func(p *layer.Projections[float32]) { p.Output = mat(0, 0) },
		"layer: QueryBias, KeyBias and ValueBias have lengths 8, 0 and 4, want all or none": func(p *layer.Projections[float32]) { p.KeyBias = nil },
		"layer: Query is 8×8, Key is 6×8, want heads of one dimension, 4 and 2 of them":     func(p *layer.Projections[float32]) { p.Key, p.KeyBias = mat(6, 8), make([]float32, 6) },
		"layer: Value is 3×8, want rows that 2 heads can share":                             func(p *layer.Projections[float32]) { p.Value, p.ValueBias = mat(3, 8), make([]float32, 3) },
		"layer: Output is 8×8, Value is 2×8, want 4 columns for 4 heads":                    func(p *layer.Projections[float32]) { p.Value, p.ValueBias = mat(2, 8), make([]float32, 2) },
	} {
		p := good
		change(&p)
		_, err := layer.New(p, exact, layer.Options{})
		assert.EqualError(t, err, want)
	}
	_, err := layer.New(good, performer.Batch[float32]{}, layer.Options{})
	assert.EqualError(t, err, "layer: attention is zero, want one of a constructor")
	_, err = layer.New(good, batch(4, 2, must.Have(performer.NewLinear(underived[float32](3), performer.LinearOptions{}))), layer.Options{})
	assert.EqualError(t, err, "layer: Query is 8×8: heads have dimension 2, but attention takes points of R^3")

	l := must.Have(layer.New(good, exact, layer.Options{}))
	assert.PanicsWithValue(t, "layer: q is 5×8, k is 6×8, v is 6×7, want Lq×8, Lk×8 and Lk×8", func() { l.ForwardCross(mat(0, 0), mat(5, 8), mat(6, 8), mat(6, 7), performer.Sequences{}) })
	assert.PanicsWithValue(t, "performer: Sequences.Valid has length 4, want one for each of 5 keys", func() { l.Forward(dense.Matrix[float32]{}, mat(5, 8), performer.Sequences{Valid: make([]bool, 4)}) })
	assert.PanicsWithValue(t, "dense: destination is 4×8, want 5×8", func() { l.Forward(mat(4, 8), mat(5, 8), performer.Sequences{}) })
}

// Weights lie within the bounds of their laws and fill them.
func TestRandomProjections(t *testing.T) {
	check := func(name string, m dense.Matrix[float64], bound float64) {
		least, most := math.Inf(1), math.Inf(-1)
		for _, x := range m.Data {
			least, most = min(least, x), max(most, x)
		}
		assert.True(t, -bound <= least && most <= bound, name)
		// Of 2000 numbers none is beyond 0.99 of a bound with probability 0.995²⁰⁰⁰ < 5·10⁻⁵.
		assert.True(t, least < -0.99*bound && most > 0.99*bound, name)
	}
	p := must.Have(layer.Draw[float64](layer.Widths{Input: 48, Heads: 4, Bias: true}, densetest.Source(230)))
	for _, m := range []dense.Matrix[float64]{p.Query, p.Key, p.Value} {
		assert.Equal(t, [2]int{48, 48}, [2]int{m.Rows, m.Cols})
		check("one matrix of 3·48 rows", m, math.Sqrt(6./(48+3*48)))
	}
	check("output", p.Output, 1/math.Sqrt(48))
	assert.Equal(t, make([]float64, 48), p.KeyBias)
	p = must.Have(layer.Draw[float64](layer.Widths{Input: 48, Keys: 40, Heads: 4}, densetest.Source(231)))
	check("of its own", p.Key, math.Sqrt(6./(48+40)))
	assert.Nil(t, p.OutputBias)

	for want, w := range map[string]layer.Widths{
		"layer: Widths.Input = 0, want at least 1":                          {Heads: 2},
		"layer: Widths.Heads = -1, want at least 1":                         {Input: 2, Heads: -1},
		"layer: Widths.Input = 5, want a multiple of Heads = 2, or HeadDim": {Input: 5, Heads: 2},
		"layer: Widths.HeadDim = -3, HeadValues = -3, want at least 1":      {Input: 5, Heads: 2, HeadDim: -3},
	} {
		_, err := layer.Draw[float64](w, densetest.Source(1))
		assert.EqualError(t, err, want)
	}
	_, err := layer.Draw[float64](layer.Widths{Input: 4, Heads: 2}, nil)
	assert.EqualError(t, err, "layer: src is nil")
}
