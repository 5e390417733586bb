package validate_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// lawful is a map of the user that implements rff.Lawful.
type lawful struct {
	rff.Map[float64]
	known bool
}

func (lawful) LawName() string { return "a law of mine" }

func (l lawful) LawAt(x, y []float64) (mean, mse float64, ok bool) {
	return l.Kernel().Eval(x, y), 0.25, l.known
}

var _ rff.Lawful[float64] = lawful{}

// Theory returns the law of a Lawful map over the frequencies of the map. It returns no law over
// other frequencies, or if LawAt is not ok.
func TestLawfulMaps(t *testing.T) {
	w, err := orf.Draw[float64](orf.IID{}, 8, 4, rand.NewPCG(1, 2))
	require.NoError(t, err)
	phi, err := rff.Gaussian(w, 1)
	require.NoError(t, err)
	x, y := []float64{1, 2, 3, 4}, []float64{1, 0, 3, 5}
	assert.Equal(t, validate.Prediction{Mean: phi.Kernel().Eval(x, y), MSE: 0.25, Law: "a law of mine"}, validate.Theory(lawful{phi, true}, nil, x, y))
	assert.Empty(t, validate.Theory(lawful{phi, false}, nil, x, y).Law)
	assert.Empty(t, validate.Theory(lawful{phi, true}, w, x, y).Law, "other frequencies")
}
