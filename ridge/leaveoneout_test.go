package ridge_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// Leave-one-out errors at targets and features with large means are those of models that are fitted
// in float64 to all rows but one.
func testLeaveOneOutOfLargeMeans[T dense.Float](t *testing.T) {
	phi, double := must.Have(rff.Draw[T](rff.Identity{D: 1}, nil)), must.Have(rff.Draw[float64](rff.Identity{D: 1}, nil))
	given, none := ridge.Options{Noise: 0.01, Prior: 1}, ridge.Options{Noise: 0.3, Prior: 9, NoIntercept: true}
	for _, c := range []struct {
		mean T
		o    ridge.Options
	}{{0, given}, {1e5, given}, {0, none}} {
		x := dense.Of(5, 1, []T{c.mean, c.mean + 1, c.mean + 2, c.mean + 3, c.mean + 40})
		y := dense.Of(5, 1, []T{1e5, 1e5 + .125, 1e5 + .1875, 1e5 + .3125, 1e5 + 4.0625})
		for _, weights := range [][]T{{1, 1, 1, 1, 1}, {1, 2, 0.5, 1, 0.25}} {
			m := must.Have(sumOf(t, phi, x, y, weights).Fit(t.Context(), c.o))
			got := must.Have(m.LeaveOneOut(dense.Matrix[T]{}, x, y, weights))
			for i := range 5 {
				rest := wide(dense.Of(5, 1, weights).Clone()).Data
				rest[i] = 0
				w, b := must.Have(sumOf(t, double, wide(x), wide(y), rest).Fit(t.Context(), c.o)).Weights()
				want := float64(y.At(i, 0)) - (b[0] + w.At(0, 0)*float64(x.At(i, 0)))
				assert.InDelta(t, want, float64(got.At(i, 0)), 1e-8+0x1p-22*math.Abs(want), "mean %g, row %d", c.mean, i)
			}
		}
	}
}

func TestLeaveOneOutOfLargeMeans(t *testing.T) {
	densetest.Both(t, testLeaveOneOutOfLargeMeans[float32], testLeaveOneOutOfLargeMeans[float64])
}
