package layer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

func TestActivations(t *testing.T) {
	t.Run("type=float32", func(t *testing.T) { activations[float32](t, 0x1p-24) })
	t.Run("type=float64", func(t *testing.T) { activations[float64](t, 0x1p-53) })
}

// activations compares with the formulas in float64. Both have the errors of an exponential, below
// two units, and of three operations. A sum of at most 32 terms in each of eight chains, and then
// in float64, has the error of 35 operations.
func activations[T dense.Float](t *testing.T, unit float64) {
	rng := rand.New(densetest.Source(731))
	nan, inf := T(math.NaN()), T(math.Inf(1))
	for _, cols := range []int{1, 255, 256, 257, 1000} {
		x, up := densetest.Normal[T](rng, 70, cols, 5, 0), densetest.Normal[T](rng, 70, cols, 1, 0)
		x.Row(0)[0], x.Row(1)[0], x.Row(2)[0], x.Row(3)[0] = nan, inf, 1000, -1000
		got, sums := layer.GatedSiLU(dense.Matrix[T]{}, x, up), layer.LogSumExp(nil, x)
		for i := range x.Rows {
			sum := 0.0
			for j, v := range x.Row(i) {
				v := float64(v)
				want := v / (1 + math.Exp(-v)) * float64(up.At(i, j))
				require.False(t, i > 0 && !(math.Abs(float64(got.At(i, j))-want) <= 8*unit*math.Abs(want)) && want-want == 0, "row %d, column %d: %v, want %v", i, j, got.At(i, j), want)
				sum += math.Exp(v - 5)
			}
			if want := 5 + math.Log(sum); i > 3 {
				require.InDelta(t, want, sums[i], 40*unit+float64(cols)*0x1p-53)
			}
		}
		assert.True(t, math.IsNaN(sums[0]) && math.IsNaN(float64(got.At(0, 0))))
		assert.True(t, math.IsInf(sums[1], 1) && math.IsInf(float64(got.At(1, 0)), int(math.Copysign(1, float64(up.At(1, 0))))))
		assert.Equal(t, 1000.0, sums[2], "no overflow")
		assert.Zero(t, got.At(3, 0))
		assert.Equal(t, got.Row(5), layer.GatedSiLU(up, x, up).Row(5), "in place")
	}
	assert.Equal(t, []float64{math.Inf(-1), math.Inf(-1)}, layer.LogSumExp(nil, dense.Of(2, 1, []T{-inf, -inf})))
	assert.Equal(t, []float64{math.Inf(-1)}, layer.LogSumExp(nil, dense.Matrix[T]{Rows: 1}))
	wide := dense.New[T](2, 3)
	assert.PanicsWithValue(t, "layer: gate is 2×3 and up 2×2, want the same", func() { layer.GatedSiLU(wide, wide, dense.New[T](2, 2)) })
	assert.PanicsWithValue(t, "layer: LogSumExp into 1 numbers for 2 rows", func() { layer.LogSumExp(make([]float64, 1), wide) })
	assert.Panics(t, func() { layer.GatedSiLU(dense.New[T](3, 3), wide, wide) })
	if !race.Detector {
		dst, large := make([]float64, 100), dense.New[T](100, 1000)
		assert.Zero(t, testing.AllocsPerRun(20, func() {
			layer.GatedSiLU(large, large, large)
			layer.LogSumExp(dst, large)
		}))
	}
}
