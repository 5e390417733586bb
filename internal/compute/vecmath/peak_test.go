package vecmath

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testPeaks[T Float](t *testing.T) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	everyTier(t, "PeakRows", func(t *testing.T) {
		peaks := []T{-inf, -inf, -inf, 1, 1, 1, 1, 1}
		PeakRows(peaks, []T{3, nan, inf, nan, inf, 0.5, 2, -inf}, 8, 1)
		assert.Equal(t, []T{3, -inf, -inf, 1, 1, 1, 2, 1}, peaks)
	})
	everyTier(t, "Peak", func(t *testing.T) {
		assert.Equal(t, -inf, Peak[T](nil))
		assert.Equal(t, -inf, Peak([]T{nan, inf, -inf}))
		assert.Equal(t, T(-2), Peak([]T{nan, -3, inf, -2, -inf}))
	})
	everyTier(t, "PeakSum", func(t *testing.T) {
		zero := make([]T, 40)
		assert.Equal(t, -1, PeakSum[T](nil, nil, nil))
		assert.Equal(t, -1, PeakSum([]T{nan, inf, -inf, 1}, zero, []T{0, 0, 0, inf}))
		assert.Equal(t, 3, PeakSum([]T{nan, -3, inf, -2, -inf}, zero, zero))
		assert.Equal(t, 1, PeakSum([]T{-1, 0, -2, 0}, zero, zero), "the first of equals")
		assert.Equal(t, 0, PeakSum(zero[:37], zero, zero), "the first of equals")
		assert.Equal(t, 1, PeakSum([]T{T(math.Inf(-1)), -5}, zero, zero), "negative, and no more than what is behind")
		// (1 + ε/2) + ε/2 is 1, and (ε/2 + ε/2) + 1 is not.
		half := T(0x1p-53)
		if isSingle[T]() {
			half = 0x1p-24
		}
		assert.Equal(t, 1, PeakSum([]T{1, half}, []T{half, half}, []T{half, 1}), "the order of the sums")
	})
}

func TestPeaks(t *testing.T) {
	t.Run("type=float32", testPeaks[float32])
	t.Run("type=float64", testPeaks[float64])
}

// testReductions compares with the reference on every length, where what is behind
// a slice would change the result.
func testReductions[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	all := make([][]T, 3)
	for i := range all {
		all[i] = mixed[T](r, longest+40)
	}
	positive := make([]T, longest+40)
	for i := range positive {
		positive[i] = T(r.NormFloat64())
	}
	// most returns the first n elements, before large ones.
	most := func(x []T, n int) []T {
		x = append([]T(nil), x...)
		for i := n; i < len(x); i++ {
			x[i] = 1e18
		}
		return x[:n]
	}
	everyTier(t, "", func(t *testing.T) {
		for n := range longest + 1 {
			x, a, b := most(all[0], n), most(all[1], n), most(all[2], n)
			require.Equal(t, peakReference(x), Peak(x), "Peak of %d", n)
			require.Equal(t, peakSumReference(x, a, b), PeakSum(x, a, b), "PeakSum of %d", n)
			require.True(t, same(HalfSquaredNorm(x), normOf(x)), "HalfSquaredNorm of %d mixed", n)
			require.True(t, same(float64(Dot(a, b)), float64(T(dotReference(a, b)))), "Dot of %d mixed", n)
			p := most(positive, n)
			require.Equal(t, sumOfSquaresReference(p)/2, HalfSquaredNorm(p), "HalfSquaredNorm of %d", n)
			require.Equal(t, T(dotReference(p, p)), Dot(p, p), "Dot of %d with itself", n)
			for i := range x { // negative sums only, and one place after the other the largest
				x[i], a[i], b[i] = -100, -200, T(-i)
			}
			if n > 0 {
				at := n * 5 / 7
				b[at] = 1
				require.Equal(t, T(-100), Peak(x), "Peak of %d", n)
				require.Equal(t, at, PeakSum(x, a, b), "PeakSum of %d", n)
			}
		}
	})
}

// normOf is the definition of HalfSquaredNorm.
func normOf[T Float](x []T) float64 {
	for _, v := range x {
		if v-v != 0 {
			return math.NaN()
		}
	}
	return sumOfSquaresReference(x) / 2
}

func TestReductions(t *testing.T) {
	t.Run("type=float32", testReductions[float32])
	t.Run("type=float64", testReductions[float64])
}

func TestNorm(t *testing.T) {
	everyTier(t, "overflow", func(t *testing.T) {
		assert.Equal(t, math.Inf(1), HalfSquaredNorm([]float64{1e200, 1}), "finite numbers are no fault")
		assert.Equal(t, 0x1p199, HalfSquaredNorm([]float32{0x1p100}), "float32 is summed in float64")
	})
}
