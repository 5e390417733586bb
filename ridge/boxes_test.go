package ridge_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// steps returns rows, uniform in the unit cube, with a function of steps of three of 4 coordinates.
func steps(n int, seed uint64) (x, y dense.Matrix[float64]) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y = dense.New[float64](n, 4), dense.New[float64](n, 1)
	for i := range n {
		for j := range x.Cols {
			x.Set(i, j, rng.Float64())
		}
		if x.At(i, 0) > 0.5 {
			y.Data[i]++
		}
		if x.At(i, 1) > 0.3 && x.At(i, 2) > 0.6 {
			y.Data[i]++
		}
	}
	return x, y
}

// gridded has 40 thresholds of equal weights in each of 4 coordinates of the unit cube.
func gridded() kernels.Boxes {
	k := kernels.Boxes{Thresholds: dense.New[float64](4, 40), Weights: dense.New[float64](4, 40)}
	for i := range k.Weights.Data {
		k.Thresholds.Data[i], k.Weights.Data[i] = (float64(i%40)+0.5)/40, 1
	}
	return k
}

// Boxes learn steps better than a Gaussian map of as many features and any of three length-scales.
func TestBoxesLearnSteps(t *testing.T) {
	const features = 800
	x, y := steps(1000, 1)
	z, truth := steps(1000, 2)
	rmse := func(phi rff.Map[float64], err error) float64 {
		require.NoError(t, err)
		m, err := ridge.Fit(t.Context(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
		require.NoError(t, err)
		sum := 0.0
		for i, v := range m.Mean(dense.Matrix[float64]{}, z).Data {
			sum += (v - truth.Data[i]) * (v - truth.Data[i])
		}
		return math.Sqrt(sum / float64(z.Rows))
	}
	boxes := rmse(rff.Draw[float64](rff.Boxes{K: gridded(), Features: features, Src: densetest.Source(1)}, nil))
	for _, lengthScale := range []float64{0.2, 0.5, 1} {
		w, err := orf.Draw[float64](orf.GramSchmidt{}, features/2, 4, densetest.Source(2))
		require.NoError(t, err)
		assert.Less(t, boxes, 0.7*rmse(rff.Draw(rff.Gaussian{LengthScale: lengthScale}, w)), lengthScale)
	}
}

// Sums of two parts, with maps of the same draw, are the sums of all rows to rounding, and a model
// is read back with the same bits.
func TestSumsOfBoxes(t *testing.T) {
	x, y := steps(300, 3)
	sums := func(lo, hi int) *ridge.Sums[float64] {
		phi, err := rff.Draw[float64](rff.Boxes{K: gridded(), Features: 60, Src: densetest.Source(1)}, nil)
		require.NoError(t, err)
		return sumOf(t, phi, x.RowRange(lo, hi), y.RowRange(lo, hi), nil)
	}
	fit := func(s *ridge.Sums[float64]) *ridge.Model[float64] {
		m, err := s.Fit(t.Context(), ridge.Options{Ratio: 1})
		require.NoError(t, err)
		return m
	}
	one, parts := fit(sums(0, 300)), sums(0, 120)
	data, err := sums(120, 300).MarshalBinary()
	require.NoError(t, err)
	other := sums(0, 0)
	require.NoError(t, other.UnmarshalBinary(data))
	require.NoError(t, parts.Merge(other))
	want := one.Mean(dense.Matrix[float64]{}, x)
	assert.InDeltaSlice(t, want.Data, fit(parts).Mean(dense.Matrix[float64]{}, x).Data, 1e-12)

	var file bytes.Buffer
	require.NoError(t, one.Write(&file))
	again, err := ridge.ReadModel[float64](&file)
	require.NoError(t, err)
	assert.Equal(t, want, again.Mean(dense.Matrix[float64]{}, x))
}
