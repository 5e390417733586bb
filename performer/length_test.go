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
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/safetensors"
)

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
