package recurrence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/stream"
)

// What no memory can hold is an error that names the argument and the value.
func TestSizes(t *testing.T) {
	bothTypes(t, testSizes[float32], testSizes[float64])
}

func testSizes[T dense.Float](t *testing.T) {
	const most, large = math.MaxInt/2 + 1, 1 << 23 // memory holds large numbers, but not the square of it
	memory := func(want string, args ...any) func(f any, err error) {
		return func(_ any, err error) {
			t.Helper()
			require.ErrorContains(t, err, "recurrence: "+fmt.Sprintf(want, args...))
			assert.ErrorContains(t, err, " of memory, want at most ")
		}
	}
	of := func(heads, keyHeads int, rule Rule) *Recurrence[T] {
		return must(New(heads, keyHeads, Options[T]{Rule: rule}))
	}
	for _, n := range []int{math.MaxInt, most, most / 8} {
		memory("heads = %d: ", n)(New(n, 1, Options[T]{}))
		memory("d = 3, dv = %d, for 2 heads of queries and 1 of keys with 3×%d sums: ", n, n)(of(2, 1, Delta).NewState(3, n))
		memory("d = %d, dv = 3, for 2 heads of queries and 1 of keys with %d×3 sums: ", n, n)(of(2, 1, Gated).NewState(n, 3))
	}
	memory("d = 1048576, dv = 1048576, for %d heads of queries and %d of keys", large, large)(of(large, large, Linear).NewState(1<<20, 1<<20))
	_, err := of(8, 2, GatedDelta).NewState(256, 256)
	assert.NoError(t, err)
}

// The number of tokens of a state neither overflows nor comes near it by bytes or another state.
func TestTokenCount(t *testing.T) {
	const most = stream.MaxTokens
	key, value := dense.Of(1, 2, []float64{1, 2}), dense.Of(1, 1, []float64{3})
	token := Tokens[float64]{Q: key, K: key, V: value}
	s := must(must(New(1, 1, Options[float64]{})).NewState(2, 1))
	s.Append(token)
	data := must(s.MarshalBinary())
	with := func(tokens uint64) []byte {
		changed := bytes.Clone(data)
		binary.LittleEndian.PutUint64(changed[32:], tokens)
		return sealed(changed)
	}
	for _, tokens := range []uint64{math.MaxInt, most + 1, math.MaxUint64} {
		assert.EqualError(t, s.UnmarshalBinary(with(tokens)), fmt.Sprintf("recurrence: state of %d tokens, want at most %d", tokens, most))
	}
	require.Equal(t, 1, s.n, "what is refused changes nothing")
	other := must(s.r.NewState(2, 1))
	other.n = most - s.n
	require.NoError(t, s.Merge(other))
	require.Equal(t, most, s.n)
	assert.EqualError(t, s.Merge(s.Clone()), fmt.Sprintf("recurrence: other has %d tokens, the state %[1]d, want at most %[1]d in all", most))

	require.NoError(t, s.UnmarshalBinary(with(most)))
	s.Append(token)
	s.Step(dense.Matrix[float64]{}, token)
	assert.Equal(t, most+2, s.n)
	s.n = math.MaxInt
	want := fmt.Sprintf("recurrence: 1 tokens after %d, want at most %[1]d in all", math.MaxInt)
	assert.PanicsWithValue(t, want, func() { s.Append(token) })
	assert.PanicsWithValue(t, want, func() { s.Step(dense.Matrix[float64]{}, token) })
	assert.Equal(t, math.MaxInt, s.n)
}
