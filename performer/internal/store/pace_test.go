package store

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// A file has the measured errors, which a store without a Tolerance passes over, and errors that
// are not numbers are refused. A number of keys beyond the largest TopK is the largest.
func TestFilesOfPaces(t *testing.T) {
	const n, d = 500, 8
	rng := rand.New(densetest.Source(821))
	x := densetest.Normal[float64](rng, n, d, 0, 1)
	store := func(tolerance float64) *Store[float64] {
		return must.Have(newElements[float64](Exact{0, 0, []tiles.Scores{{Scale: 1}}, Places{}, []TopK{{40, tolerance}}, 1, 1, d, d}))
	}
	s := store(0.2)
	s.Step(dense.New[float64](n, d), x, x, x)
	paces := s.segments.choosing().paces
	require.NotEqual(t, 40, paces[0].Keys)
	for _, tolerance := range []float64{0, 0.2} {
		to := store(tolerance)
		require.NoError(t, to.Inspect(s.Recipe(), n))
		to.Decode(s.Recipe(), n)
		if tolerance > 0 {
			assert.Equal(t, paces, to.segments.choosing().paces)
		} else {
			assert.Equal(t, 40, to.segments.choosing().paces[0].Keys)
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1), -1} {
			r := s.Recipe()
			r.Doubles[len(r.Doubles)-2] = bad
			assert.ErrorContains(t, to.Inspect(r, n), "performer: state with a measured error of ")
		}
		r := s.Recipe()
		r.Doubles = r.Doubles[:len(r.Doubles)-1]
		assert.ErrorContains(t, to.Inspect(r, n), "float64, want")
	}
	r := s.Recipe()
	r.Doubles[len(r.Doubles)-numbersOfPace] = math.MaxFloat64
	s.Decode(r, n)
	assert.Equal(t, mostKeys, s.segments.choosing().paces[0].Keys)
}
