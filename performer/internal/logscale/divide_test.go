package logscale

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func TestDivide(t *testing.T) {
	densetest.Both(t, testDivide[float32], testDivide[float64])
}

func testDivide[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(0, 95))
	worst := 0.0
	for range 20000 {
		total := T(math.Ldexp(1+rng.Float64(), rng.IntN(40)-20))
		x := []T{total, T(rng.NormFloat64()) * total, -total, 0, T(math.Copysign(0, -1))}
		got := make([]T, len(x))
		Divide(got, x, total)
		require.Equal(t, []T{1, -1, 0, 0}, []T{got[0], got[2], got[3], got[4]}, "over %v", total)
		require.False(t, math.Signbit(float64(got[4])), "+0")
		want := new(big.Float).Quo(big.NewFloat(float64(x[1])), big.NewFloat(float64(total)))
		off, _ := want.Sub(want, big.NewFloat(float64(got[1]))).Float64()
		worst = max(worst, math.Abs(off/float64(got[1])))
	}
	assert.LessOrEqual(t, worst, 4*densetest.Roundoff[T](), "2 units in the last place")
	assert.Greater(t, worst, densetest.Roundoff[T](), "not the nearest number, always")

	inf, nan := T(math.Inf(1)), T(math.NaN())
	tiny, huge := T(math.SmallestNonzeroFloat32), T(math.MaxFloat32)
	if densetest.Roundoff[T]() < 0x1p-50 {
		small, large := math.SmallestNonzeroFloat64, math.MaxFloat64
		tiny, huge = T(small), T(large)
	}
	for _, c := range []struct{ x, total, want T }{
		{1, 0, inf}, {-1, 0, -inf}, {0, 0, nan}, {1, T(math.Copysign(0, -1)), inf}, {inf, 1, inf}, {inf, inf, nan},
		{3, inf, 0}, {nan, 1, nan}, {1, nan, nan}, {tiny, tiny, 1}, {3 * tiny, tiny, 3}, {tiny, 2 * tiny, 0.5},
		{huge, huge, 1}, {huge, -huge, -1}, {1, huge, 1 / huge}, {6, 3, 2}, {6, 49, T(6.0 / 49)},
	} {
		got := make([]T, 1)
		Divide(got, []T{c.x}, c.total)
		if c.want == c.want && !math.IsInf(float64(c.want), 0) && c.want != 0 {
			assert.InEpsilon(t, float64(c.want), float64(got[0]), 4*densetest.Roundoff[T](), "%v/%v", c.x, c.total)
		} else {
			assert.True(t, densetest.Identical(dense.Of(1, 1, []T{c.want}), dense.Of(1, 1, got)), "%v/%v = %v", c.x, c.total, got[0])
		}
	}
}
