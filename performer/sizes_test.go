package performer_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// What no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	densetest.Both(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most, large = math.MaxInt/2 + 1, 1 << 23 // memory holds large numbers, not large²
	memory := limittest.Memory(t, "performer")
	exact := performer.Attention[T](must.Have(performer.NewExact[T](performer.ExactOptions{})))
	elu := func(d int) performer.Linear[T] {
		return attention[T](must.Have(rff.Draw[T](rff.ELU{D: d}, nil)), performer.LinearOptions{})
	}
	for _, n := range []int{math.MaxInt, most, most / 2} {
		memory("Heads = %d: ", n)(performer.NewBatch(performer.BatchOptions{Heads: n}, exact))
		memory("Heads = %d: ", n)(performer.NewBatch(performer.BatchOptions{Heads: n}, exact))
		memory("Heads = %d: ", n)(performer.NewBatch[T](performer.BatchOptions{Heads: n, KeyHeads: 1}, elu(4)))
		memory("d = %d, dv = 1, for 1 heads: ", n)(must.Have(performer.NewExact[T](performer.ExactOptions{})).NewState(n, 1))
		memory("d = 4, dv = %d, for 1 heads: ", n)(elu(4).NewState(4, n))
	}
	memory("dv = %d, for 1 heads of %d features: ", large, large)(elu(large).NewState(large, large))
	memory("d = %d, dv = 2, for %d heads: ", large, large)(must.Have(performer.NewBatch(performer.BatchOptions{Heads: large, KeyHeads: 1}, exact)).NewState(large, 2))
	memory("d = 2, dv = %d, for %d heads: ", large, large)(must.Have(performer.NewBatch(performer.BatchOptions{Heads: large}, exact)).NewState(2, large))
	memory("d = 4, dv = %d, for %d heads: ", large, large)(must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: large}, elu(4))).NewState(4, large))
}

// One form for all heads takes no memory for each: a number of heads that a configuration
// has got wrong is seen where it does not fit, at once.
func TestManyHeads(t *testing.T) {
	const heads = 1 << 24
	for _, form := range []performer.Attention[float32]{must.Have(performer.NewExact[float32](performer.ExactOptions{})), attention(maptest.Positive[float32](8, 4), performer.LinearOptions{})} {
		for _, keyHeads := range []int{1, 1 << 20, heads} {
			b := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, form))
			_, kept, end := performer.Units(b)
			assert.Equal(t, 1, kept)
			assert.Equal(t, heads, end, "%T with %d heads of keys", form, keyHeads)
		}
	}
}

// The number of tokens of a state neither overflows nor comes near it by bytes or another state.
func TestTokenCount(t *testing.T) {
	const most = limit.Tokens
	key, value := dense.Of(1, 2, []float64{1, 2}), dense.Of(1, 1, []float64{3})
	a := attention[float64](must.Have(rff.Draw[float64](rff.ELU{D: 2}, nil)), performer.LinearOptions{})
	s := must.Have(a.NewState(2, 1))
	s.Append(key, value)
	data := must.Have(archive.Changed(must.Have(s.MarshalBinary()), func(f *safetensors.File) { f.Metadata["state.tokens"] = strconv.Itoa(most) }))
	other := must.Have(a.NewState(2, 1))
	other.SetLen(most - s.Len())
	require.NoError(t, s.Merge(other))
	require.Equal(t, most, s.Len())
	assert.EqualError(t, s.Merge(s.Clone()), fmt.Sprintf("performer: other has %d tokens, the state %[1]d, want at most %[1]d in all", most))

	require.NoError(t, s.UnmarshalBinary(data))
	s.Append(key, value)
	s.Step(dense.Matrix[float64]{}, key, key, value)
	assert.Equal(t, most+2, s.Len())
	s.SetLen(math.MaxInt)
	want := fmt.Sprintf("performer: 1 tokens after %d, want at most %[1]d in all", math.MaxInt)
	assert.PanicsWithValue(t, want, func() { s.Append(key, value) })
	assert.PanicsWithValue(t, want, func() { s.Step(dense.Matrix[float64]{}, key, key, value) })
	assert.Equal(t, math.MaxInt, s.Len())
}
