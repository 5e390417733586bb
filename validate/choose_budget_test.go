package validate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/validate"
)

// With an error for budget, maps are as small as that allows, and the smallest comes first.
func TestChooseToAnError(t *testing.T) {
	t.Parallel()
	const limit = 0.2
	x, y := samples(40, 8)
	// Gaussian over each kind of frequencies, and GaussianPositive over independent ones.
	all := validate.GaussianCandidates[float64](2)[:5]
	for _, most := range []int{0, 400} {
		c, err := validate.Choose(t.Context(), all, x, y, validate.ChooseOptions{Features: most, Error: limit, Pairs: 30, Draws: 30}, exprand.NewSource(1))
		require.NoError(t, err)
		require.Empty(t, c.Rejected)
		require.Positive(t, c.Enough)
		for i, r := range c.Trials {
			bound := r.MSE + 4*r.MSEStdErr
			if i >= c.Enough {
				assert.Greater(t, bound, limit*limit, r.Name)
				continue
			}
			assert.LessOrEqual(t, bound, limit*limit, r.Name)
			assert.GreaterOrEqual(t, r.Features, c.Trials[0].Features, r.Name)
			if r.MSEStdErr == 0 && r.Frequencies > 8 {
				assert.Greater(t, r.MSE/0.8, limit*limit, "%s: fewer frequencies would not be enough", r.Name)
			}
		}
		drawn, err := c.Draw(exprand.NewSource(2))
		require.NoError(t, err)
		_, out := drawn.Dims()
		assert.Equal(t, c.Trials[0].Features, out)
	}

	c, err := validate.Choose(t.Context(), all, x, y, validate.ChooseOptions{Features: 8, Error: 0.001, Pairs: 30, Draws: 30}, exprand.NewSource(1))
	require.ErrorIs(t, err, validate.ErrInaccurate)
	assert.ErrorContains(t, err, "validate: no candidate is accurate enough: candidate "+c.Trials[0].Name+" has the error ")
	assert.ErrorContains(t, err, " with 8 features, want at most 0.001")
	assert.Zero(t, c.Enough)
	assert.Len(t, c.Trials, len(all))
	assert.Equal(t, 8, c.Trials[0].Features)

	_, err = validate.Choose(t.Context(), all, x, y, validate.ChooseOptions{Error: math.NaN()}, exprand.NewSource(1))
	assert.EqualError(t, err, "validate: ChooseOptions.Error = NaN, want at least 0")
}
