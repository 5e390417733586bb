package streams

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// The memory of keys and values is reader for a number of times that grows as the logarithm of
// the tokens, and is at most twice what they need.
func TestMemoryGrowsSeldom(t *testing.T) {
	const n = 5000
	m, err := NewExact[float32](HeadScores{Scores: tiles.Scores{Scale: 1}}, Places{}, 4, 2, 3, 2)
	require.NoError(t, err)
	x, y := densetest.Filled[float32](1, 6, 1), densetest.Filled[float32](1, 4, 1)
	grown, room := 0, 0
	for i := range n {
		m.Append(x, y)
		if m.room != room {
			grown, room = grown+1, m.room
		}
		require.LessOrEqual(t, m.room, max(2*(i+1), leastRoom))
	}
	assert.Equal(t, 8, grown, "64, 128, … 8192 tokens")
	assert.Len(t, m.keys, 2*room*3)
	assert.Len(t, m.values, 2*room*2)
}
