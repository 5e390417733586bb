package layer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// Streams that step together have the bits of streams that step alone, with rotary positions of
// their own, however many there are.
func TestMultiHeadStepAll(t *testing.T) {
	densetest.Both(t, testMultiHeadStepAll[float32], testMultiHeadStepAll[float64])
}

func testMultiHeadStepAll[T dense.Float](t *testing.T) {
	const width, streams = 24, 19
	rng := rand.New(densetest.Source(485))
	for _, noOutput := range []bool{false, true} {
		p := must.Have(layer.Draw[T](layer.Widths{Input: width, Heads: 4, KeyHeads: 2, HeadDim: 6, Bias: true, NoOutput: noOutput}, densetest.Source(486)))
		l := must.Have(layer.New(p, batch(4, 2, must.Have(performer.NewExact[T](performer.ExactOptions{}))), layer.Options{Rotary: &layer.RotaryOptions{}}))
		var together, alone []*performer.State[T]
		for i := range streams {
			s := must.Have(l.NewState())
			l.Step(dense.Matrix[T]{}, densetest.Normal[T](rng, i%4, width, 0, 1), s)
			together, alone = append(together, s), append(alone, s.Clone())
		}
		for _, n := range []int{1, 2, 8, 9, streams} {
			states := append(slices.Clone(together[:n]), together[n-1], together[n-1])
			x := densetest.Normal[T](rng, n+2, width, 0, 1)
			got := l.StepAll(dense.Matrix[T]{}, x, states)
			for i := range x.Rows {
				want := l.Step(dense.Matrix[T]{}, x.RowRange(i, i+1), alone[min(i, n-1)])
				require.Equal(t, want.Row(0), got.Row(i), "row %d of %d streams", i, n)
			}
		}
		x := densetest.Normal[T](rng, 2, width, 0, 1)
		for text, states := range map[string][]*performer.State[T]{"1 states for 2": together[:1], "states[1] is nil": {together[0], nil}} {
			func() {
				defer func() { assert.Contains(t, recover(), text) }()
				l.StepAll(dense.Matrix[T]{}, x, states)
			}()
		}
		assert.Zero(t, l.StepAll(dense.New[T](0, width), x.RowRange(0, 0), nil).Rows)
		if !race.Detector {
			dst := dense.New[T](2, width)
			for range 200 { // the memory of tokens grows by halves
				l.StepAll(dst, x, together[:2])
			}
			require.Less(t, testing.AllocsPerRun(100, func() { l.StepAll(dst, x, together[:2]) }), 1.0)
		}
	}
}

func TestMultiHeadStepErrors(t *testing.T) {
	p := must.Have(layer.Draw[float32](layer.Widths{Input: 4, Heads: 2}, densetest.Source(483)))
	_, err := must.Have(layer.New(p, batch(2, 2, performer.Attention[float32](ownForm{})), layer.Options{})).NewState()
	assert.EqualError(t, err, "layer: performer: layer_test.ownForm has no state, want Linear or Exact attention")
}

// ownForm is a form of another package, which has no states.
type ownForm struct{}

func (ownForm) Forward(dst, q, k, v dense.Matrix[float32]) dense.Matrix[float32] {
	return must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(dst, q, k, v)
}

// A layer takes the TopK of each head: a stream has the bits of exact attention for few tokens, and
// is near it later.
func TestMultiHeadTopK(t *testing.T) {
	densetest.Both(t, testMultiHeadTopK[float32], testMultiHeadTopK[float64])
}

func testMultiHeadTopK[T dense.Float](t *testing.T) {
	const width, n = 32, 420
	p := must.Have(layer.Draw[T](layer.Widths{Input: width, Heads: 4, KeyHeads: 2, HeadDim: 8}, densetest.Source(488)))
	x := densetest.Normal[T](rand.New(densetest.Source(489)), n, width, 0, 1)
	var outs []dense.Matrix[T]
	for _, topK := range [][]int{{0, 0, 0, 0}, {32, 64, 40, 32}} {
		var heads []performer.Attention[T]
		for _, k := range topK {
			heads = append(heads, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, TopK: k})))
		}
		l := must.Have(layer.New(p, must.Have(performer.NewBatch(performer.BatchOptions{Heads: 4, KeyHeads: 2}, heads...)), layer.Options{Rotary: &layer.RotaryOptions{}}))
		outs = append(outs, l.Step(dense.Matrix[T]{}, x, must.Have(l.NewState())))
	}
	require.True(t, densetest.Identical(outs[0].RowRange(0, 32+127), outs[1].RowRange(0, 32+127)))
	errs := densetest.RelativeErrors(outs[1], outs[0])
	assert.Less(t, slices.Max(errs), 0.5)
	assert.NotZero(t, slices.Max(errs))
}
