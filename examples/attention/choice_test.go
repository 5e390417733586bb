package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/validate"
)

// On the word vectors the choice of a map is SDERF, no worse than others by more than 10 %, and
// every step to it helps: orthogonal frequencies, the optimal features, the fit to the spread of
// the words.
func TestChoice(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	s := settings{seed: 1, length: 512, norm: 5, draws: 2}
	in, err := fromText(s)
	require.NoError(t, err)
	h, scale := in.heads[0], 1.0/8
	for _, m := range []int{64, 512} {
		o := validate.ChooseOptions{Features: m, Relative: true, Pairs: 256, Draws: 16}
		choice, err := validate.Choose(t.Context(), validate.SoftmaxCandidates[float32](scale), h.q, h.k, o, source(s.seed, "choice"))
		require.NoError(t, err)
		assert.Equal(t, 32, len(choice.Trials)+len(choice.Rejected))
		at := make(map[string]float64)
		for _, r := range choice.Trials {
			at[r.Name] = r.MSE
		}
		for _, name := range []string{
			"SoftmaxPositive iid", "SoftmaxPositive Gram–Schmidt", "SoftmaxPositive simplex", "SoftmaxHyperbolic Gram–Schmidt",
			"SoftmaxOptimal Gram–Schmidt", "SADERF Gram–Schmidt", "SDERF iid",
		} {
			require.Contains(t, at, name)
			assert.LessOrEqual(t, choice.Trials[0].MSE, 1.1*at[name], name)
		}
		assert.Contains(t, choice.Trials[0].Name, "SDERF")
		assert.Less(t, at["SoftmaxPositive Gram–Schmidt"], at["SoftmaxPositive iid"])
		assert.Less(t, at["SoftmaxPositive simplex"], at["SoftmaxPositive Gram–Schmidt"])
		assert.Less(t, 5*at["SoftmaxOptimal Gram–Schmidt"], at["SoftmaxPositive Gram–Schmidt"])
		assert.Less(t, 2*at["SDERF iid"], at["SoftmaxOptimal Gram–Schmidt"])
		// Queries are keys: there is nothing to balance.
		assert.InEpsilon(t, at["SoftmaxOptimal Gram–Schmidt"], at["SADERF Gram–Schmidt"], 1e-4)
	}
}
