package ridge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Sums without targets have the features of sums with targets, from rows of any kind.
func TestNoTargets(t *testing.T) {
	densetest.Both(t, testNoTargets[float32], testNoTargets[float64])
}

func testNoTargets[T dense.Float](t *testing.T) {
	const n, d = 10000, 5
	phi := gaussian[T](t, 8, d, 1, 1)
	x, y := friedman[T](n, d, 1)
	weight, mean, scatter := sumOf(t, phi, x, y, nil).Features()
	double := dense.Copy(dense.Matrix[float64]{}, x)
	for name, rows := range map[string]ridge.Rows[T]{
		"Block": ridge.Block[T]{X: x},
		"NPY":   ridge.NPY[T]{X: put(t, "x.npy", array("<f8", "10000, 5", double.Data))},
	} {
		s, err := ridge.Sum(t.Context(), phi, rows)
		require.NoError(t, err, name)
		assert.Equal(t, n, s.Rows(), name)
		w, m, c := s.Features()
		assert.Equal(t, weight, w, name)
		assertClose(t, map[string][]float64{"mean": mean, "scatter": scatter.Data}, map[string][]float64{"mean": m, "scatter": c.Data}, 1e-12)

		data := must.Have(s.MarshalBinary())
		again := must.Have(ridge.NewSums(phi, 0))
		require.NoError(t, again.UnmarshalBinary(data))
		require.NoError(t, again.Merge(s))
		assert.Equal(t, 2*n, again.Rows())
		_, err = s.Fit(t.Context(), ridge.Options{})
		assert.EqualError(t, err, "ridge: the sums have no targets, want at least 1 to fit")
		_, err = ridge.Choose(t.Context(), []rff.Map[T]{phi}, rows, ridge.Options{})
		assert.ErrorContains(t, err, "have no targets", name)
		_, err = ridge.Classify(t.Context(), []rff.Map[T]{phi}, rows, ridge.ClassifyOptions{Classes: 2})
		assert.ErrorContains(t, err, "want 8160×1", name)
	}
}
