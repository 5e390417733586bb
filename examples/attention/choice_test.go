package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// On the word vectors the choice is not worse than the best of the estimators of the
// table by more than 10 %, and every step of the table helps: orthogonal frequencies,
// the optimal features, the fit to the spread of the words.
func TestChoice(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	s := settings{seed: 1, length: 512, norm: 5, draws: 2}
	in, err := fromText(s)
	require.NoError(t, err)
	sizes := []int{64, 256, 1024}
	all, err := comparisonOf(t, s, in).choose(sizes)
	require.NoError(t, err)
	for i, choice := range all {
		at := make(map[string]float64)
		for _, row := range choices {
			r, ok := ranked(choice, row.candidate)
			require.True(t, ok, row.candidate)
			require.NotEmpty(t, r.Law, row.candidate)
			assert.LessOrEqual(t, choice.Best().MSE, 1.1*r.MSE, row.candidate)
			assert.Equal(t, sizes[i], r.Features, row.candidate)
			at[row.title] = r.MSE
		}
		assert.Less(t, at["FAVOR+, Gram–Schmidt"], at["FAVOR+, iid"])
		assert.Less(t, at["FAVOR+, simplex"], at["FAVOR+, Gram–Schmidt"])
		assert.Less(t, 5*at["FAVOR++, Gram–Schmidt"], at["FAVOR+, Gram–Schmidt"])
		assert.Less(t, 2*at["SDERF, iid"], at["FAVOR++, Gram–Schmidt"])
		// Queries are keys: there is nothing to balance.
		assert.InEpsilon(t, at["FAVOR++, Gram–Schmidt"], at["SADERF, Gram–Schmidt"], 1e-4)
	}
	var b strings.Builder
	require.NoError(t, reportChoices(&b, sizes, all))
	assert.Contains(t, b.String(), "m = 1024")
	assert.Contains(t, b.String(), "among its 32 candidates")
	assert.NotContains(t, b.String(), "too few")
}
