package orf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
)

// ensembleOf returns what w says of its law.
func ensembleOf[T dense.Float](w Projection[T]) Ensemble {
	return w.(interface{ Ensemble() Ensemble }).Ensemble()
}

func testEnsembles[T dense.Float](t *testing.T) {
	for _, c := range []struct {
		e    Ensemble
		d    int
		want Ensemble
		text string
	}{
		{IID{}, 5, IID{}, "IID"},
		{IID{FixedLength: true}, 5, IID{FixedLength: true}, "IID(FixedLength)"},
		{GramSchmidt{}, 5, GramSchmidt{}, "GramSchmidt"},
		{GramSchmidt{FixedLength: true}, 5, GramSchmidt{FixedLength: true}, "GramSchmidt(FixedLength)"},
		{Simplex{}, 5, Simplex{}, "Simplex"},
		{Simplex{FixedLength: true}, 5, Simplex{FixedLength: true}, "Simplex(FixedLength)"},
		{Hadamard{}, 5, Hadamard{Factors: 3}, "Hadamard"},
		{Hadamard{Factors: 2, FixedLength: true}, 9, Hadamard{FixedLength: true, Factors: 2}, "Hadamard(Factors=2, FixedLength)"},
		{Givens{}, 8, Givens{Rotations: 24}, "Givens"},
		{Givens{}, 1, Givens{}, "Givens"},
		{Givens{Rotations: 4, FixedLength: true}, 8, Givens{FixedLength: true, Rotations: 4}, "Givens(Rotations=4, FixedLength)"},
		{Fastfood{}, 5, Fastfood{}, "Fastfood"},
		{Fastfood{FixedLength: true}, 8, Fastfood{FixedLength: true}, "Fastfood(FixedLength)"},
		{Halton{}, 5, Halton{}, "Halton"},
		{Sobol{}, 5, Sobol{}, "Sobol"},
	} {
		assert.Equal(t, c.text, c.e.String())
		p, err := Draw[T](c.e, 7, c.d, exprand.NewSource(1))
		require.NoError(t, err)
		assert.Equal(t, c.want, ensembleOf(p), "%v", c.e)
		assert.True(t, c.want == ensembleOf(p), "ensembles are comparable")

		q, err := Draw[T](c.want, 7, c.d, exprand.NewSource(1))
		require.NoError(t, err)
		assert.Equal(t, p.Frequencies(), q.Frequencies(), "%v: what is filled in is the default", c.e)
	}
	given, err := Of(dense.New[T](7, 5))
	require.NoError(t, err)
	assert.Nil(t, ensembleOf(given))
}

func TestEnsembles(t *testing.T) {
	t.Run("type=float32", testEnsembles[float32])
	t.Run("type=float64", testEnsembles[float64])
}

// foreign is an ensemble of another package.
type foreign struct{ Ensemble }

func TestUnknownEnsembles(t *testing.T) {
	for text, e := range map[string]Ensemble{"<nil>": nil, "*orf.IID": &IID{}, "orf.foreign": foreign{IID{}}} {
		_, err := Draw[float64](e, 2, 2, exprand.NewSource(1))
		assert.EqualError(t, err, "orf: e is "+text+", want an ensemble of this package")
	}
}
