package performer_test

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
)

// Streams that step together, come and go, and add several tokens at a time have the bits of
// streams that step alone.
func TestStepAll(t *testing.T) { densetest.Both(t, testStepAll[float32], testStepAll[float64]) }

func testStepAll[T dense.Float](t *testing.T) {
	const heads, keyHeads, d, dv, streams = 4, 2, 8, 6, 7
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	rng := rand.New(densetest.Source(601))
	for name, a := range map[string]performer.Attention[T]{
		"exact":  must.Have(performer.NewExact[T](performer.ExactOptions{})),
		"8 bits": must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})),
		"window": must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Window: 20, Sinks: 2})),
		"linear": attention(maptest.Positive[T](32, d), performer.LinearOptions{}),
	} {
		b := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, a))
		var together, alone [streams]*performer.State[T]
		for i := range together {
			together[i] = must.Have(b.NewState(d, dv))
			k, v := rowsOf[T](rng, 50*i, keyHeads*d), rowsOf[T](rng, 50*i, keyHeads*dv)
			together[i].Append(k, v)
			alone[i] = together[i].Clone()
		}
		for range 30 {
			var states []*performer.State[T]
			var lengths, which []int
			for _, i := range rng.Perm(streams)[:rng.IntN(streams+1)] {
				which, lengths = append(which, i), append(lengths, 1+rng.IntN(3))
				for range lengths[len(lengths)-1] {
					states = append(states, together[i])
				}
			}
			n := len(states)
			q, k, v := rowsOf[T](rng, n, heads*d), rowsOf[T](rng, n, keyHeads*d), rowsOf[T](rng, n, keyHeads*dv)
			got := performer.StepAll(dense.New[T](n, heads*dv), q, k, v, states)
			at := 0
			for j, i := range which {
				end := at + lengths[j]
				want := alone[i].Step(dense.Matrix[T]{}, q.RowRange(at, end), k.RowRange(at, end), v.RowRange(at, end))
				for l := range want.Rows {
					require.Equal(t, want.Row(l), got.Row(at+l), "%s: token %d of stream %d", name, l, i)
				}
				require.Equal(t, alone[i].Len(), together[i].Len())
				at = end
			}
		}
	}
	s, other := must.Have(must.Have(performer.NewExact[T](performer.ExactOptions{})).NewState(d, dv)), must.Have(must.Have(performer.NewExact[T](performer.ExactOptions{})).NewState(d, dv+1))
	q, k, v := rowsOf[T](rng, 3, d), rowsOf[T](rng, 3, d), rowsOf[T](rng, 3, dv)
	for text, states := range map[string][]*performer.State[T]{
		"3 queries": {s, s}, "rows 0 and 2": {s, other, s}, "want n×8 and n×7": {s, s, other}, "belongs to no attention": {s, s, nil},
	} {
		func() {
			defer func() { assert.Contains(t, recover(), text) }()
			performer.StepAll(dense.Matrix[T]{}, q, k, v, states)
		}()
	}
	assert.Zero(t, s.Len(), "no token is added before all states are known")
	assert.Equal(t, 3, performer.StepAll(dense.Matrix[T]{}, q, k, v, []*performer.State[T]{s, s, s}).Rows)
}

func TestStepAllNoAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	const d, dv, n = 8, 6, 5
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	rng := rand.New(densetest.Source(602))
	var states []*performer.State[float32]
	for range n {
		states = append(states, must.Have(attention(maptest.Positive[float32](32, d), performer.LinearOptions{}).NewState(d, dv)))
	}
	q, k, v, dst := rowsOf[float32](rng, n, d), rowsOf[float32](rng, n, d), rowsOf[float32](rng, n, dv), dense.New[float32](n, dv)
	for _, processors := range []int{1, 2} {
		require.Zero(t, allocs.Settled(processors, func() { performer.StepAll(dst, q, k, v, states) }))
	}
}
