package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Independent columns of a linear function with the weights w and the variances v have the
// importances 2w²v: a permutation replaces a value by an independent one.
func TestImportances(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	row := func(int) string {
		a, b, noise, kind := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.IntN(3)
		return fmt.Sprintf("%v,%v,%v,%c,n%d,%v", noise, b, a, 'a'+kind, rng.Int(), 3*a+b+2*float64(kind)+rng.NormFloat64()/100)
	}
	const names = "noise,b,a,kind,note,y"
	m := fitted(t, made(t, names, 100, row), Options{})
	all, err := m.Explain(made(t, names, 2000, row), rand.NewPCG(3, 4))
	require.NoError(t, err)
	require.Len(t, all, 4, "text is left out")
	for i, want := range []struct {
		name string
		loss float64
	}{{"a", 18}, {"kind", 2 * 4 * 2.0 / 3}, {"b", 2}, {"noise", 0}} {
		assert.Equal(t, want.name, all[i].Column)
		// The weights of 100 rows with noise of 0.01 are off by some 0.001, which the term of 0.02
		// bounds.
		assert.InDelta(t, want.loss, all[i].Loss, 4*all[i].StdErr+0.02, want.name)
		assert.Less(t, all[i].StdErr, 0.06*want.loss+0.01, want.name)
	}
}

func TestImportancesOfClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	row := func(int) string {
		a, p := rng.NormFloat64(), rng.Float64()
		return fmt.Sprintf("%v,%v,%t", rng.NormFloat64(), a, p < 1/(1+math.Exp(-3*a)))
	}
	m := fitted(t, made(t, "noise,a,y", 60, row), Options{})
	more := made(t, "noise,a,y", 1000, row)
	all, err := m.Explain(more, rand.NewPCG(3, 4))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "noise"}, []string{all[0].Column, all[1].Column})
	assert.Greater(t, all[0].Loss, 0.5)
	assert.Less(t, math.Abs(all[1].Loss), 0.05)
	again, err := m.Explain(more, rand.NewPCG(3, 4))
	require.NoError(t, err)
	assert.Equal(t, all, again)

	_, err = m.Explain(more, nil)
	assert.EqualError(t, err, "table: src is nil, want a source of randomness")
	_, err = m.Explain(made(t, "noise,a,y", 3, func(int) string { return "1,2,late" }), rand.NewPCG(3, 4))
	assert.EqualError(t, err, "table: fewer than two rows with a known target")
	_, err = new(Model).Explain(more, rand.NewPCG(3, 4))
	assert.Equal(t, errNoModel, err)
}
