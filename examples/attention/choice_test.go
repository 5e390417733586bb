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
	c := comparisonOf(t, s, in)
	for _, m := range []int{64, 512} {
		choice, err := c.choose(m)
		require.NoError(t, err)
		at := make(map[string]float64)
		for _, row := range choices {
			r, ok := ranked(choice, row.candidate)
			require.True(t, ok, row.candidate)
			require.NotEmpty(t, r.Law, row.candidate)
			assert.LessOrEqual(t, choice.Best().MSE, 1.1*r.MSE, row.candidate)
			assert.Equal(t, m, r.Features, row.candidate)
			at[row.title] = r.MSE
		}
		assert.Less(t, at["FAVOR+, Gram–Schmidt"], at["FAVOR+, iid"])
		assert.Less(t, at["FAVOR+, simplex"], at["FAVOR+, Gram–Schmidt"])
		assert.Less(t, 5*at["FAVOR++, Gram–Schmidt"], at["FAVOR+, Gram–Schmidt"])
		assert.Less(t, 2*at["SDERF, iid"], at["FAVOR++, Gram–Schmidt"])
		// Queries are keys: there is nothing to balance.
		assert.InEpsilon(t, at["FAVOR++, Gram–Schmidt"], at["SADERF, Gram–Schmidt"], 1e-4)
		var b strings.Builder
		require.NoError(t, reportChoice(&b, choice))
		assert.Contains(t, b.String(), "among 32 candidates")
		assert.NotContains(t, b.String(), "too few")
	}
}
