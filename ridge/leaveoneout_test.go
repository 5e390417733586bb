package ridge_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Leave-one-out errors at targets and features with large means are those of models that are fitted
// in float64 to all rows but one.
func testLeaveOneOutOfLargeMeans[T dense.Float](t *testing.T) {
	phi := must.Have(rff.Draw[T](rff.Identity{D: 1}, nil))
	wide := must.Have(rff.Draw[float64](rff.Identity{D: 1}, nil))
	for _, c := range []struct {
		mean T
		o    ridge.Options
	}{{0, ridge.Options{Noise: 0.01, Prior: 1}}, {1e5, ridge.Options{Noise: 0.01, Prior: 1}}, {0, ridge.Options{Noise: 0.3, Prior: 9, NoIntercept: true}}} {
		mean, o := c.mean, c.o
		x := dense.Of(5, 1, []T{mean, mean + 1, mean + 2, mean + 3, mean + 40})
		y := dense.Of(5, 1, []T{1e5, 1e5 + .125, 1e5 + .1875, 1e5 + .3125, 1e5 + 4.0625})
		for _, weights := range [][]T{nil, {1, 2, 0.5, 1, 0.25}} {
			sums := must.Have(ridge.NewSums[T](phi, 1))
			require.NoError(t, sums.Add(x, y, weights))
			m := must.Have(sums.Fit(t.Context(), o))
			got := must.Have(m.LeaveOneOut(dense.Matrix[T]{}, x, y, weights))
			for i := range 5 {
				rest := must.Have(ridge.NewSums[float64](wide, 1))
				for l := range 5 {
					if l == i {
						continue
					}
					w := []float64{1}
					if weights != nil {
						w[0] = float64(weights[l])
					}
					require.NoError(t, rest.Add(dense.Of(1, 1, []float64{float64(x.At(l, 0))}), dense.Of(1, 1, []float64{float64(y.At(l, 0))}), w))
				}
				without := must.Have(rest.Fit(t.Context(), o))
				w, b := without.Weights()
				want := float64(y.At(i, 0)) - (b[0] + w.At(0, 0)*float64(x.At(i, 0)))
				assert.InDelta(t, want, float64(got.At(i, 0)), 1e-8+0x1p-22*math.Abs(want), "mean %g, row %d", mean, i)
			}
		}
	}
}

func TestLeaveOneOutOfLargeMeans(t *testing.T) {
	densetest.Both(t, testLeaveOneOutOfLargeMeans[float32], testLeaveOneOutOfLargeMeans[float64])
}
