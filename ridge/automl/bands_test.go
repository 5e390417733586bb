package automl_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// Rows in [0, 1] tell little of waves beyond. Bands of 90 % hold most points at 1.1 to 1.2 and at
// 1.4, where bands of equal width held 41 % and none, and hold 90 % inside, within four standard
// errors of the 80 errors of each of six waves.
func testBandsBeyondRows[T dense.Float](t *testing.T) {
	const n, waves = 80, 6
	var shares [3]float64
	for seed := range uint64(waves) {
		rng := rand.New(rand.NewPCG(seed, 6))
		phase := 2 * math.Pi * rng.Float64()
		y := func(x float64) T { return T(math.Sin(9*x+phase) + 0.1*rng.NormFloat64()) }
		rows := ridge.Block[T]{X: dense.New[T](n, 1), Y: dense.New[T](n, 1)}
		for i := range n {
			v := rng.Float64()
			rows.X.Set(i, 0, T(v))
			rows.Y.Set(i, 0, y(v))
		}
		r, err := automl.Fit(t.Context(), rows, automl.Options{}, rand.NewPCG(1, 2))
		require.NoError(t, err)
		require.Equal(t, "in proportion to deviations", r.Bands, r.String())
		for at, lo := range []float64{0, 1.1, 1.4} {
			x := dense.New[T](200, 1)
			for i := range x.Rows {
				x.Set(i, 0, T(lo+[...]float64{1, 0.1, 0}[at]*rng.Float64()))
			}
			mean, half := r.Model.Band(x, 0.9)
			for i, v := range x.Data {
				if math.Abs(float64(y(float64(v))-mean.At(i, 0))) <= float64(half.At(i, 0)) {
					shares[at] += 1.0 / float64(waves*x.Rows)
				}
			}
		}
	}
	assert.InDelta(t, 0.9, shares[0], 4*math.Sqrt(0.09/(waves*n)+0.09/(waves*200)))
	assert.Greater(t, shares[1], 0.75)
	assert.Greater(t, shares[2], 0.75)
}

func TestBandsBeyondRows(t *testing.T) {
	densetest.Both(t, testBandsBeyondRows[float32], testBandsBeyondRows[float64])
}
