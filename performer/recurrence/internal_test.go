package recurrence

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// One processor's worth of work is not split, more is, and no share is less than a block.
func TestSplit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, c := range []struct{ heads, n, dv, want int }{
		{1, 4096, 64, 2}, {1, 4096, 65, 3}, {1, 4096, 256, 4}, {1, 4096, 32, 1}, {1, 0, 64, 1},
		{2, 4096, 64, 2}, {3, 4096, 64, 1}, {8, 4096, 64, 1}, {1, 200, 64, 1},
	} {
		r := must.Have(newOf[float64](Options{Heads: c.heads}))
		x := Tokens[float64]{Q: dense.New[float64](c.n, 64*c.heads), K: dense.New[float64](c.n, 64*c.heads)}
		call := call[float64]{r: r, x: x, dst: dense.New[float64](c.n, c.dv*c.heads), dk: 64, dv: c.dv, from: []int{0, c.n}}
		call.split()
		require.Equal(t, c.want, call.shares, "%+v", c)
		call.dst = x.Q
		call.split()
		if c.n > 0 {
			require.Equal(t, 1, call.shares, "%+v into queries", c)
		}
	}
}

// The number of tokens of a state neither overflows nor comes near it by bytes or another state.
func TestTokenCount(t *testing.T) {
	const most = limit.Tokens
	key, value := dense.Of(1, 2, []float64{1, 2}), dense.Of(1, 1, []float64{3})
	token := Tokens[float64]{Q: key, K: key, V: value}
	s := must.Have(newOf[float64](Options{Heads: 1})).newState(2, 1)
	s.Append(token)
	data := must.Have(s.MarshalBinary())
	with := func(tokens int) []byte {
		return must.Have(archive.Changed(data, func(f *safetensors.File) { f.Metadata["state.tokens"] = strconv.Itoa(tokens) }))
	}
	for _, tokens := range []int{math.MaxInt, most + 1, -1} {
		assert.EqualError(t, s.UnmarshalBinary(with(tokens)), fmt.Sprintf("recurrence: state of %d tokens, want 0 to %d", tokens, most))
	}
	require.Equal(t, 1, s.n, "what is refused changes nothing")
	other := s.r.newState(2, 1)
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
