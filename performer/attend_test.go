package performer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// attendCase is a call of Attend with random tensors.
type attendCase struct {
	name         string
	form         performer.ExactOptions
	heads, group int
	lq, lk, past int
	lengths      []int
	bias, mask   [4]int
	tokens       bool
	pad          int  // keys at the left that the mask hides from every query
	half         bool // one of both types, in turn, has the case
}

// attendCases returns the cases, with all options that read places and lengths about those of
// tiles.
func attendCases() []attendCase {
	all := []attendCase{
		{name: "plain", heads: 2, group: 1, lq: 5, lk: 7},
		{name: "tokens", heads: 4, group: 2, lq: 5, lk: 7, tokens: true},
		{name: "bias of every pair", heads: 2, group: 1, lq: 70, lk: 300, bias: [4]int{2, 2, 70, 300}},
		{name: "bias of keys", heads: 2, group: 1, lq: 6, lk: 9, bias: [4]int{1, 2, 1, 9}},
		{name: "bias of fewer keys", heads: 2, group: 2, lq: 130, lk: 300, bias: [4]int{2, 1, 130, 260}, tokens: true},
		{name: "mask of every pair", heads: 2, group: 1, lq: 70, lk: 300, mask: [4]int{2, 2, 70, 300}},
		{name: "mask of keys of a head", heads: 4, group: 2, lq: 6, lk: 9, mask: [4]int{2, 4, 1, 8}},
		{name: "mask of keys and bias", heads: 2, group: 1, lq: 6, lk: 9, mask: [4]int{2, 1, 1, 9}, bias: [4]int{1, 1, 6, 9}},
		{name: "softcap", form: performer.ExactOptions{Softcap: 1.5}, heads: 2, group: 1, lq: 66, lk: 70},
		{name: "softcap causal", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true, Scale: 0.7}, Softcap: 1.5}, heads: 2, group: 2, lq: 300, lk: 300},
		{name: "softcap, bias and mask", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Softcap: 0.8}, heads: 2, group: 1, lq: 70, lk: 290, bias: [4]int{1, 2, 70, 290}, mask: [4]int{2, 1, 70, 290}, past: 220},
		{name: "past", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, heads: 4, group: 2, lq: 5, lk: 12, past: 7, tokens: true},
		{name: "lengths", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, heads: 2, group: 1, lq: 4, lk: 9, lengths: []int{9, 2}},
		{name: "lengths and a mask", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, heads: 2, group: 1, lq: 4, lk: 9, lengths: []int{0, 6}, mask: [4]int{1, 2, 4, 9}},
		{name: "sink", form: performer.ExactOptions{SinkWeight: 4, Softcap: 2}, heads: 4, group: 2, lq: 70, lk: 300, bias: [4]int{1, 4, 70, 300}, mask: [4]int{2, 1, 70, 300}},
		{name: "sink and a past", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, SinkWeight: 0.5}, heads: 4, group: 2, lq: 5, lk: 12, past: 7, tokens: true},
		{name: "sink and lengths", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, SinkWeight: 1}, heads: 2, group: 1, lq: 4, lk: 9, lengths: []int{9, 2}},
		{name: "chunks and a past", form: performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Chunk: 5}, heads: 4, group: 2, lq: 5, lk: 12, past: 7, tokens: true},
		{name: "chunks and lengths", form: performer.ExactOptions{Chunk: 3}, heads: 2, group: 1, lq: 4, lk: 9, lengths: []int{9, 2}},
		{name: "chunks and a mask", form: performer.ExactOptions{Chunk: 100, Slope: 0.1}, heads: 2, group: 1, lq: 170, lk: 300, mask: [4]int{2, 2, 170, 300}},
		{name: "no keys", heads: 2, group: 1, lq: 3, lk: 0, mask: [4]int{1, 1, 3, 0}},
		{name: "no queries", heads: 2, group: 1, lq: 0, lk: 3, bias: [4]int{1, 1, 1, 3}},
		{name: "a query", heads: 1, group: 1, lq: 1, lk: 300},
		{name: "a key", heads: 1, group: 1, lq: 300, lk: 1},
	}
	for _, causal := range []bool{false, true} {
		for i, n := range []int{1, 2, 63, 64, 65, 127, 128, 129, 300} {
			o := performer.ExactOptions{Softmax: performer.Softmax{Scale: []float64{0, 0.7, -0.5}[i%3], Causal: causal}}
			all = append(all, attendCase{name: fmt.Sprintf("%d tokens, %+v", n, o), form: o, heads: 1, group: 1, lq: n, lk: n})
		}
	}
	for i, e := range placedForms[float64]() {
		o := e.Options()
		all = append(all, attendCase{name: fmt.Sprintf("%+v", o), form: o, heads: 1, group: 1, lq: 290, lk: 290, half: true})
		if i%2 == 0 { // padding of more keys than a tile has
			all = append(all, attendCase{name: fmt.Sprintf("padding, %+v", o), form: o, heads: 1, group: 1, lq: 20, lk: 300, past: 280, pad: 270, mask: [4]int{2, 1, 20, 300}, half: true})
		}
	}
	return all
}

// call returns the call of the case, whose first keys are past ones. A third of the pairs of a mask
// and a tenth of the biases are closed, and the first query of every mask sees nothing.
func call[T dense.Float](c attendCase, rng *rand.Rand) (performer.Exact[T], performer.AttendArgs[T]) {
	const batch, d, dv = 2, 8, 5
	keyHeads := c.heads / c.group
	all := performer.AttendArgs[T]{
		Q: normalTensor[T](rng, batch, c.heads, c.lq, d, c.tokens),
		K: normalTensor[T](rng, batch, keyHeads, c.lk, d, c.tokens),
		V: normalTensor[T](rng, batch, keyHeads, c.lk, dv, c.tokens), Lengths: c.lengths,
	}
	if c.bias != [4]int{} {
		all.Bias = normalTensor[T](rng, c.bias[0], c.bias[1], c.bias[2], c.bias[3], false)
		for i := range all.Bias.Data {
			if rng.IntN(10) == 0 {
				all.Bias.Data[i] = T(math.Inf(-1))
			}
		}
	}
	if c.mask != [4]int{} {
		all.Mask = dense.NewTensor[bool](c.mask[0], c.mask[1], c.mask[2], c.mask[3])
		for i := range all.Mask.Data {
			all.Mask.Data[i] = rng.IntN(3) > 0 && (i/max(c.mask[3], 1)%c.mask[2] > 0 || c.mask[2] == 1) && i%c.mask[3] >= c.pad
		}
	}
	return must.Have(performer.NewExact[T](c.form)), all
}

// rowsBetween returns rows from ≤ i < to of every head, in new memory.
func rowsBetween[T dense.Float](t dense.Tensor[T], from, to int) dense.Tensor[T] {
	r := dense.NewTensor[T](t.Batch, t.Heads, to-from, t.Cols)
	for b := range t.Batch {
		for h := range t.Heads {
			dense.Copy(dense.Head(r, b, h), dense.Head(t, b, h).RowRange(from, to))
		}
	}
	return r
}

// asGiven returns the call with its first keys as past ones.
func asGiven[T dense.Float](c attendCase, all performer.AttendArgs[T]) performer.AttendArgs[T] {
	if c.past > 0 {
		all.PastK, all.PastV = rowsBetween(all.K, 0, c.past), rowsBetween(all.V, 0, c.past)
		all.K, all.V = rowsBetween(all.K, c.past, c.lk), rowsBetween(all.V, c.past, c.lk)
	}
	return all
}

// requireNear requires that a tensor is near the truth.
func requireNear[T dense.Float](t *testing.T, name string, want dense.Tensor[float64], got dense.Tensor[T], tolerance float64) {
	t.Helper()
	require.Equal(t, want.Shape(), got.Shape(), name)
	for b := range want.Batch {
		for h := range want.Heads {
			for i := range want.Rows {
				x := got.Row(b, h, i)
				for j, w := range want.Row(b, h, i) {
					if g := float64(x[j]); g != w && !(math.Abs(g-w) <= tolerance*max(math.Abs(w), 1)) {
						t.Fatalf("%s[%d, %d, %d, %d] is %v, want %v ± %v", name, b, h, i, j, g, w, tolerance)
					}
				}
			}
		}
	}
}

// Outputs, scores, weights and gradients are those of the definition.
func TestAttend(t *testing.T) {
	t.Run("float32", testAttend[float32])
	t.Run("float64", testAttend[float64])
}

func testAttend[T dense.Float](t *testing.T) {
	for seed, c := range attendCases() {
		if c.half && seed%2 != parity[T]() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 2))
			form, all := call[T](c, rng)
			given := asGiven(c, all)
			dout := normalTensor[T](rng, 2, c.heads, c.lq, all.V.Cols, c.tokens)
			want := naive(form.Options(), all, wideTensor(dout), c.past)

			// Scores are sums of 8 products of normal numbers, gradients of at most 300 terms of
			// size 30. Errors add up as the terms do.
			score := 64 * densetest.Roundoff[T]()
			output := 40 * score
			for stage, w := range map[performer.Scores]dense.Tensor[float64]{
				performer.ScoresAfterMatMul: want.raw, performer.ScoresAfterSoftcap: want.capped, performer.ScoresAfterBias: want.biased, performer.ScoresAfterSoftmax: want.weights,
			} {
				given.Scores = stage
				got, err := performer.Attend(form, given)
				require.NoError(t, err)
				requireNear(t, "out", want.out, got.Out, output)
				requireNear(t, fmt.Sprint("scores ", stage), w, got.Scores, 4*score)
				requireNear(t, "keys", wideTensor(all.K), got.K, 0)
				requireNear(t, "values", wideTensor(all.V), got.V, 0)
			}
			given.Scores = performer.NoScores
			given.LearnBias = !given.Bias.IsZero()
			g, err := performer.AttendBackward(form, given, dout)
			require.NoError(t, err)
			requireNear(t, "dq", want.dq, g.Q, 20*output)
			requireNear(t, "dk", want.dk, g.K, 20*output)
			requireNear(t, "dv", want.dv, g.V, 20*output)
			if form.Options().SinkWeight == 0 {
				assert.Nil(t, g.LogSink)
			} else {
				sinks := dense.New[T](1, c.heads)
				copy(sinks.Data, g.LogSink)
				densetest.RequireClose(t, dense.Of(1, c.heads, want.dsinks), densetest.Filled(1, c.heads, 20*output), sinks, "sinks")
			}
			if !given.LearnBias {
				assert.True(t, g.Bias.IsZero())
				return
			}
			sums := dense.NewTensor[float64](c.bias[0], c.bias[1], c.bias[2], c.bias[3])
			for b := range 2 {
				for h := range c.heads {
					for i := range c.lq {
						axpy(sums.Row(min(b, c.bias[0]-1), min(h, c.bias[1]-1), min(i, c.bias[2]-1)), want.dbias.Row(b, h, i)[:c.bias[3]], 1)
					}
				}
			}
			requireNear(t, "dbias", sums, g.Bias, 20*output)
		})
	}
}

// What a query does not see, NaN included, has no effect on outputs and gradients.
func TestAttendLeavesOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	nan := math.NaN()
	for _, causal := range []bool{false, true} {
		c := attendCase{heads: 2, group: 1, lq: 70, lk: 280, mask: [4]int{1, 2, 70, 280}}
		form, all := call[float64](c, rng)
		form = with(form, func(o *performer.ExactOptions) { o.Causal, o.Softcap = causal, 3 })
		hidden := []int{3, 128, 279}
		for h := range 2 {
			for i := range 70 {
				for _, j := range hidden {
					all.Mask.Row(0, h, i)[j] = false
				}
			}
		}
		dout := normalTensor[float64](rng, 2, 2, 70, 5, false)
		clear(dout.Row(1, 1, 7))
		want, err := performer.Attend(form, all)
		require.NoError(t, err)
		wantG, err := performer.AttendBackward(form, all, dout)
		require.NoError(t, err)
		for b := range 2 {
			for _, j := range hidden {
				layout.Fill(all.K.Row(b, 1, j), nan)
				layout.Fill(all.V.Row(b, 1, j), nan)
			}
		}
		layout.Fill(all.Q.Row(0, 0, 0), nan) // it sees no key
		got, err := performer.Attend(form, all)
		require.NoError(t, err)
		layout.Fill(all.Q.Row(1, 1, 7), nan) // it has no gradient
		gotG, err := performer.AttendBackward(form, all, dout)
		require.NoError(t, err)
		// Sums over rows of which one is not finite have another order.
		requireNear(t, "out", want.Out, got.Out, 1e-14)
		requireNear(t, "dq", wantG.Q, gotG.Q, 1e-13)
		requireNear(t, "dk", wantG.K, gotG.K, 1e-13)
		requireNear(t, "dv", wantG.V, gotG.V, 1e-13)
		assert.Equal(t, make([]float64, 5), got.Out.Row(0, 0, 0))
		for _, j := range hidden {
			assert.Equal(t, make([]float64, 8), gotG.K.Row(1, 1, j))
		}
	}
}

// Values that are not finite reach the queries that see them, and no others.
func TestAttendNotFinite(t *testing.T) {
	form, all := call[float64](attendCase{heads: 1, group: 1, lq: 3, lk: 4}, rand.New(rand.NewPCG(1, 4)))
	all.Mask = dense.TensorOf(1, 1, 3, 4, []bool{
		true, true, false, false,
		true, true, true, false,
		false, false, false, true,
	})
	all.V.Row(0, 0, 2)[1] = math.Inf(1)
	got, err := performer.Attend(form, all)
	require.NoError(t, err)
	assert.True(t, math.IsInf(got.Out.Row(0, 0, 1)[1], 1))
	for _, i := range []int{0, 2} {
		for _, x := range got.Out.Row(0, 0, i) {
			assert.False(t, math.IsInf(x, 0) || math.IsNaN(x))
		}
	}
	assert.Equal(t, all.V.Row(0, 0, 3), got.Out.Row(0, 0, 2))
	all.Bias = dense.TensorOf(1, 1, 1, 4, []float64{0, math.NaN(), 0, 0})
	got, err = performer.Attend(form, all)
	require.NoError(t, err)
	assert.True(t, math.IsNaN(got.Out.Row(0, 0, 0)[0]), "a bias of NaN is not hidden")
	assert.Equal(t, all.V.Row(0, 0, 3), got.Out.Row(0, 0, 2))
	all.Bias = dense.TensorOf(1, 1, 1, 4, []float64{0, 0, 0, math.NaN()})
	got, err = performer.Attend(form, all)
	require.NoError(t, err)
	assert.True(t, math.IsNaN(got.Out.Row(0, 0, 2)[0]), "a query that sees one key, of a bias of NaN")
	assert.False(t, math.IsNaN(got.Out.Row(0, 0, 0)[0]))
}

// with returns exact attention with options that differ.
func with[T dense.Float](e performer.Exact[T], change func(o *performer.ExactOptions)) performer.Exact[T] {
	o := e.Options()
	change(&o)
	return must.Have(performer.NewExact[T](o))
}
