package performer_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// The number of tokens of a state neither overflows nor comes near it by bytes or another state.
func TestTokenCount(t *testing.T) {
	const most = frame.MaxTokens
	key, value := dense.Of(1, 2, []float64{1, 2}), dense.Of(1, 1, []float64{3})
	a := attention[float64](must.Have(rff.Draw[float64](rff.ELU{D: 2}, nil)), performer.LinearOptions{})
	s := must.Have(a.NewState(2, 1))
	s.Append(key, value)
	data := must.Have(s.MarshalBinary())
	with := func(tokens uint64) []byte {
		changed := bytes.Clone(data)
		binary.LittleEndian.PutUint64(changed[32:], tokens)
		return sealed(changed)
	}
	for _, tokens := range []uint64{math.MaxInt, most + 1, math.MaxUint64} {
		assert.EqualError(t, s.UnmarshalBinary(with(tokens)), fmt.Sprintf("performer: state of %d tokens, want at most %d", tokens, most))
	}
	require.Equal(t, 1, s.Len(), "what is refused changes nothing")
	other := must.Have(a.NewState(2, 1))
	other.SetLen(most - s.Len())
	require.NoError(t, s.Merge(other))
	require.Equal(t, most, s.Len())
	assert.EqualError(t, s.Merge(s.Clone()), fmt.Sprintf("performer: other has %d tokens, the state %[1]d, want at most %[1]d in all", most))

	require.NoError(t, s.UnmarshalBinary(with(most)))
	s.Append(key, value)
	s.Step(dense.Matrix[float64]{}, key, key, value)
	assert.Equal(t, most+2, s.Len())
	s.SetLen(math.MaxInt)
	want := fmt.Sprintf("performer: 1 tokens after %d, want at most %[1]d in all", math.MaxInt)
	assert.PanicsWithValue(t, want, func() { s.Append(key, value) })
	assert.PanicsWithValue(t, want, func() { s.Step(dense.Matrix[float64]{}, key, key, value) })
	assert.Equal(t, math.MaxInt, s.Len())
}
