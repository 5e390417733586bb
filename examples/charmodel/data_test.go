package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
)

func TestCorpus(t *testing.T) {
	c, err := newCorpus(strings.Repeat("abæc", 20), 3)
	require.NoError(t, err)
	assert.Equal(t, []rune("abcæ"), c.symbols)
	assert.Len(t, c.training, 72)
	assert.Equal(t, []int{0, 1, 3, 2, 0, 1, 3, 2}, c.heldOut)
	assert.Equal(t, "æca", c.text([]int{3, 2, 0}))
	assert.InDelta(t, math.Log(4), c.entropy(), 1e-14, "four symbols as often as each other")

	for range 50 {
		b := c.sample(2, 3, rand.New(exprand.NewSource(1)))
		assert.Equal(t, 3, b.length)
		require.Len(t, b.symbols, 6)
		for i, s := range b.symbols {
			at := slices.Index([]int{0, 1, 3, 2}, s)
			assert.Equal(t, []int{0, 1, 3, 2}[(at+1)%4], b.next[i], "the symbol that follows")
		}
	}
	assert.Equal(t, []batch{
		{symbols: []int{0, 1, 3, 2, 0, 1}, next: []int{1, 3, 2, 0, 1, 3}, length: 3},
	}, c.validation(2, 3))
	assert.Equal(t, []batch{
		{symbols: []int{0, 1, 3}, next: []int{1, 3, 2}, length: 3},
		{symbols: []int{2, 0, 1}, next: []int{0, 1, 3}, length: 3},
	}, c.validation(1, 3))
}
