package validate_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// lawful is a map of the caller that knows its law.
type lawful struct {
	rff.Map[float64]
	known bool
}

func (lawful) LawName() string { return "a law of mine" }

func (l lawful) LawAt(x, y []float64) (mean, mse float64, ok bool) {
	return l.Kernel().Eval(x, y), 0.25, l.known
}

var _ rff.Lawful[float64] = lawful{}

// A map of the caller with a law is predicted by it, and one without, or where the law says nothing, is
// measured.
func TestLawfulMaps(t *testing.T) {
	x, y := samples(20, 4)
	candidate := func(known bool) validate.Candidate[float64] {
		return validate.Candidate[float64]{Name: "mine", Draw: func(m int, _, _ dense.Matrix[float64], src rand.Source) (rff.Map[float64], error) {
			w, err := orf.Draw[float64](orf.IID{}, m, 4, src)
			if err != nil {
				return nil, err
			}
			phi, err := rff.Gaussian(w, 1)
			return lawful{phi, known}, err
		}}
	}
	for _, known := range []bool{false, true} {
		m, err := candidate(known).Draw(8, x, y, rand.NewPCG(1, 2))
		require.NoError(t, err)
		p := validate.Theory(m, nil, x.Row(0), y.Row(0))
		c, err := validate.Choose(t.Context(), []validate.Candidate[float64]{candidate(known)}, x, y, validate.ChooseOptions{Features: 16, Pairs: 5}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		if known {
			assert.Equal(t, validate.Prediction{Mean: m.Kernel().Eval(x.Row(0), y.Row(0)), MSE: 0.25, Law: "a law of mine"}, p)
			assert.Equal(t, "a law of mine", c.Trials[0].Law)
			assert.Equal(t, 0.25, c.Trials[0].MSE)
			assert.Zero(t, c.Trials[0].MSEStdErr)
		} else {
			assert.Empty(t, p.Law)
			assert.Empty(t, c.Trials[0].Law)
			assert.Positive(t, c.Trials[0].MSEStdErr)
		}
	}
	w, err := orf.Draw[float64](orf.IID{}, 8, 4, rand.NewPCG(1, 2))
	require.NoError(t, err)
	m, err := candidate(true).Draw(8, x, y, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Empty(t, validate.Theory(m, w, x.Row(0), y.Row(0)).Law, "other frequencies")
}
