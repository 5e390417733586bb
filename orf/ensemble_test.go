package orf

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
)

var (
	_ Drawn[float32] = (*explicit[float32])(nil)
	_ Drawn[float64] = (*structured[float64])(nil)
)

func testEnsembles[T dense.Float](t *testing.T) {
	given := func(m, d int, _ rand.Source) (Projection[T], error) { return Of(dense.New[T](m, d)) }
	with := func(f func(m, d int, src rand.Source, opts ...Option) (Projection[T], error), opts ...Option) Constructor[T] {
		return func(m, d int, src rand.Source) (Projection[T], error) { return f(m, d, src, opts...) }
	}
	fixed := FixedLength()
	for _, c := range []struct {
		draw Constructor[T]
		d    int
		want Ensemble
	}{
		{given, 5, Ensemble{}},
		{with(IID[T]), 5, Ensemble{Kind: Independent, Order: 1}},
		{with(IID[T], fixed), 5, Ensemble{Kind: Independent, FixedLength: true, Order: 1}},
		{with(GramSchmidt[T]), 5, Ensemble{Kind: HaarOrthogonal, Order: 5}},
		{with(GramSchmidt[T], fixed), 5, Ensemble{Kind: HaarOrthogonal, FixedLength: true, Order: 5}},
		{with(Simplex[T]), 5, Ensemble{Kind: HaarSimplex, Order: 5}},
		{with(Simplex[T], fixed), 5, Ensemble{Kind: HaarSimplex, FixedLength: true, Order: 5}},
		{with(Hadamard[T]), 5, Ensemble{Kind: HadamardProduct, Factors: 3, Order: 8}},
		{with(Hadamard[T], Blocks(2), fixed), 9, Ensemble{Kind: HadamardProduct, FixedLength: true, Factors: 2, Order: 12}},
		{with(Givens[T]), 8, Ensemble{Kind: GivensProduct, Factors: 24, Order: 8}},
		{with(Givens[T]), 1, Ensemble{Kind: GivensProduct, Order: 1}},
		{with(Givens[T], Rotations(4), fixed), 8, Ensemble{Kind: GivensProduct, FixedLength: true, Factors: 4, Order: 8}},
		{with(Fastfood[T]), 5, Ensemble{Kind: FastfoodProduct, Order: 8}},
		{with(Fastfood[T], fixed), 8, Ensemble{Kind: FastfoodProduct, FixedLength: true, Order: 8}},
		{Halton[T], 5, Ensemble{Kind: HaltonPoints, Order: 7}},
		{Sobol[T], 5, Ensemble{Kind: SobolPoints, Order: 7}},
	} {
		p, err := c.draw(7, c.d, exprand.NewSource(1))
		require.NoError(t, err)
		assert.Equal(t, c.want, p.(Drawn[T]).Ensemble(), "%v", c.want)
	}
}

func TestEnsembles(t *testing.T) {
	t.Run("type=float32", testEnsembles[float32])
	t.Run("type=float64", testEnsembles[float64])
}

func TestKindNames(t *testing.T) {
	names := map[string]bool{}
	for k := Given; k <= SobolPoints; k++ {
		names[k.String()] = true
	}
	assert.Len(t, names, 9, "all named, differently")
	assert.NotContains(t, names, "")
	assert.Equal(t, "Haar simplex", HaarSimplex.String())
	assert.Equal(t, "Kind(-1)", Kind(-1).String())
	assert.Equal(t, "Kind(9)", Kind(9).String())
}
