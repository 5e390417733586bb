package caches

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/internal/streams"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// Bytes that claim to have kept another number of tokens are refused, or are those of a memory of
// as many bytes that goes on.
func TestForgedCounts(t *testing.T) {
	const tokens = 4000
	s := must.Have(New[float32](8, tiles.Scores{Scale: 1}, streams.Places{Window: 9, Sinks: 3}, 1, 1, 4, 3))
	k, v := dense.New[float32](tokens, 4), dense.New[float32](tokens, 3)
	s.Append(k, v)
	data := s.Encode(nil)
	fixed, token := s.Size()
	require.Equal(t, fixed, len(data))
	require.Zero(t, token)
	accepted := 0
	for kept := range uint64(tokens + 2) {
		binary.LittleEndian.PutUint64(data[24:], kept)
		rest, err := s.Inspect(data, tokens)
		if err != nil {
			continue
		}
		accepted++
		assert.Empty(t, rest)
		c := s.Clone()
		assert.Empty(t, c.Decode(data, tokens))
		assert.Len(t, c.Encode(nil), fixed)
		c.Step(dense.New[float32](1, 3), k.RowRange(0, 1), k.RowRange(0, 1), v.RowRange(0, 1))
	}
	assert.Positive(t, accepted)
	binary.LittleEndian.PutUint64(data[24:], 1<<63)
	_, err := s.Inspect(data, tokens)
	assert.ErrorContains(t, err, "of 4000 tokens")
}
