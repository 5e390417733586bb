package recurrence

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
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/safetensors"
)

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
