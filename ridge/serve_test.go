package ridge_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/ridge"
)

// One row has the mean and the deviation that it has among others, to rounding.
func TestOneRow(t *testing.T) {
	densetest.Both(t, testOneRow[float32], testOneRow[float64])
}

func testOneRow[T dense.Float](t *testing.T) {
	for _, features := range []int{1, 20, 150} {
		for _, o := range []ridge.Options{{}, {Noise: 0.7, Prior: 3, NoIntercept: true}, {Noise: 1e-3, Prior: 1e3}} {
			m, rows := fitted(t, gaussian[T](t, features, 5, 1, 1), 300, o)
			mean, sd := m.Predict(rows.X)
			for i := range rows.X.Rows {
				one, own := m.Predict(rows.X.RowRange(i, i+1))
				for j := range one.Data {
					require.InDelta(t, float64(mean.At(i, j)), float64(one.At(0, j)), 1e-5*(1+math.Abs(float64(mean.At(i, j)))))
					require.InEpsilon(t, float64(sd.At(i, j)), float64(own.At(0, j)), 1e-6, "row %d of %d features, %+v", i, features, o)
				}
			}
		}
	}
	m, rows := fitted(t, gaussian[T](t, 20, 5, 1, 1), 150, ridge.Options{})
	rows.X.Set(0, 0, T(math.NaN()))
	mean, sd := m.Predict(rows.X.RowRange(0, 1))
	assert.True(t, math.IsNaN(float64(mean.At(0, 0))) && math.IsNaN(float64(sd.At(0, 0))), "a row with NaN has %v and %v", mean, sd)
}

func served[T dense.Float](b *testing.B, frequencies int) *ridge.Model[T] {
	x, y := friedman[T](5000, 10, 1)
	m := must.Have(ridge.Fit(b.Context(), gaussian[T](b, frequencies, 10, 1, 1), ridge.Block[T]{X: x, Y: y}, ridge.Options{Noise: 1, Prior: 10}))
	return m
}
