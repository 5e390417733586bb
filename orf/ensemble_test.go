package orf_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/orf"
)

// ensembleOf returns what w says of its law.
func ensembleOf[T dense.Float](w orf.Projection[T]) orf.Ensemble {
	return w.(interface{ Ensemble() orf.Ensemble }).Ensemble()
}

func testEnsembles[T dense.Float](t *testing.T) {
	for _, c := range []struct {
		e    orf.Ensemble
		d    int
		want orf.Ensemble
		text string
	}{
		{orf.IID{}, 5, orf.IID{}, "IID"},
		{orf.IID{FixedLength: true}, 5, orf.IID{FixedLength: true}, "IID(FixedLength)"},
		{orf.GramSchmidt{}, 5, orf.GramSchmidt{}, "GramSchmidt"},
		{orf.GramSchmidt{FixedLength: true}, 5, orf.GramSchmidt{FixedLength: true}, "GramSchmidt(FixedLength)"},
		{orf.Simplex{}, 5, orf.Simplex{}, "Simplex"},
		{orf.Simplex{FixedLength: true}, 5, orf.Simplex{FixedLength: true}, "Simplex(FixedLength)"},
		{orf.Hadamard{}, 5, orf.Hadamard{Factors: 3}, "Hadamard"},
		{orf.Hadamard{Factors: 2, FixedLength: true}, 9, orf.Hadamard{FixedLength: true, Factors: 2}, "Hadamard(Factors=2, FixedLength)"},
		{orf.Givens{}, 8, orf.Givens{Rotations: 24}, "Givens"},
		{orf.Givens{}, 1, orf.Givens{}, "Givens"},
		{orf.Givens{Rotations: 4, FixedLength: true}, 8, orf.Givens{FixedLength: true, Rotations: 4}, "Givens(Rotations=4, FixedLength)"},
		{orf.Halton{}, 5, orf.Halton{}, "Halton"},
		{orf.Cauchy{}, 5, orf.Cauchy{}, "Cauchy"},
	} {
		assert.Equal(t, c.text, c.e.String())
		p := must.Have(orf.Draw[T](c.e, 7, c.d, exprand.NewSource(1)))
		assert.Equal(t, c.want, ensembleOf(p), "%v", c.e)
		assert.True(t, c.want == ensembleOf(p), "ensembles are comparable")

		q := must.Have(orf.Draw[T](c.want, 7, c.d, exprand.NewSource(1)))
		assert.Equal(t, p.Frequencies(), q.Frequencies(), "%v: what is filled in is the default", c.e)
	}
	given := must.Have(orf.FromMatrix(dense.New[T](7, 5)))
	assert.Nil(t, ensembleOf(given))
}

func TestEnsembles(t *testing.T) {
	densetest.Both(t, testEnsembles[float32], testEnsembles[float64])
}

// foreign is an ensemble of another package.
type foreign struct{ orf.Ensemble }

func TestUnknownEnsembles(t *testing.T) {
	for text, e := range map[string]orf.Ensemble{"<nil>": nil, "*orf.IID": &orf.IID{}, "orf_test.foreign": foreign{orf.IID{}}} {
		_, err := orf.Draw[float64](e, 2, 2, exprand.NewSource(1))
		assert.EqualError(t, err, "orf: e is "+text+", want an ensemble of this package")
	}
}
