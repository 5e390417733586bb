package automl_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// From 3001 rows on the last fit takes the kernel of all rows, if the work is within bounds and no
// option is against it.
func TestFitsKernel(t *testing.T) {
	for _, c := range []struct {
		o    automl.Options
		n, d int
		want bool
	}{
		{automl.Options{}, 3000, 5, false}, {automl.Options{}, 3001, 5, true}, {automl.Options{}, 24281, 3, true}, {automl.Options{}, 43152, 9, false},
		{automl.Options{Classes: 26}, 16000, 16, true}, {automl.Options{}, 100_000, 20, false}, {automl.Options{Classes: 1000}, 20_000, 20, false},
		{automl.Options{}, 3001, 301, false}, {automl.Options{Landmarks: 500}, 3001, 5, false}, {automl.Options{HeavyTails: true}, 3001, 5, false},
	} {
		assert.Equal(t, c.want, automl.FitsKernel(c.o, c.n, c.d), "%+v", c)
	}
}

// The fit with the kernel of all rows finds the length-scale of the column that matters, has rows
// in their own units, from memory and from files, and its bands hold their share of new targets.
func TestKernelOfAllRows(t *testing.T) {
	densetest.Both(t, testKernelOfAllRows[float32], testKernelOfAllRows[float64])
}

func testKernelOfAllRows[T dense.Float](t *testing.T) {
	const noise = 0.1
	f := func(x []float64) float64 { return 7 + math.Sin(4*x[0]) }
	rows, other := table[T](300, 3, 1, noise, f), table[T](1500, 3, 2, noise, f)
	for _, b := range []ridge.Block[T]{rows, other} {
		for i := range b.X.Rows {
			b.X.Row(i)[0] = 1000 + 50*b.X.Row(i)[0]
		}
	}
	r, done, err := automl.KernelFit(t.Context(), rows, automl.Options{}, kernels.Gaussian{LengthScale: 1}, 1)
	require.NoError(t, err)
	require.True(t, done)
	assert.Equal(t, "Gaussian, of all rows with a length-scale for each dimension", r.Kernel)
	assert.Less(t, rmse(r.Model, other), 0.16)
	// All 300 rows are in the sample, so that scales of 3 columns have seen each of them.
	assert.InDelta(t, 0.9, inside(r.Model, other), 4*math.Sqrt(0.09*(1.0/300+1.0/1500)))
	folder := t.TempDir()
	require.NoError(t, npy.WriteFile(folder+"/x.npy", rows.X.Data, 300, 3))
	require.NoError(t, npy.WriteFile(folder+"/y.npy", rows.Y.Data, 300, 1))
	again, done, err := automl.KernelFit[T](t.Context(), ridge.NPY[T]{X: folder + "/x.npy", Y: folder + "/y.npy"}, automl.Options{}, kernels.Gaussian{LengthScale: 1}, 1)
	require.NoError(t, err)
	require.True(t, done)
	assert.Equal(t, r.Model.Quantiles(other.X, 0.2), again.Model.Quantiles(other.X, 0.2))

	// Outputs count alike, whatever their units are.
	both := rows
	both.Y = dense.New[T](300, 2)
	for i := range 300 {
		copy(both.Y.Row(i), []T{rows.Y.At(i, 0), 1e6 * (rows.X.At(i, 1) + T(i%2)/4)})
	}
	two, done, err := automl.KernelFit(t.Context(), both, automl.Options{}, kernels.Gaussian{LengthScale: 1}, 1)
	require.NoError(t, err)
	require.True(t, done)
	mean := two.Model.Mean(dense.Matrix[T]{}, other.X)
	square := 0.0
	for i := range mean.Rows {
		square += math.Pow(float64(mean.At(i, 0)-other.Y.At(i, 0)), 2) / 1500
	}
	assert.Less(t, math.Sqrt(square), 0.2)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = automl.KernelFit(ctx, rows, automl.Options{}, kernels.Gaussian{LengthScale: 1}, 1)
	assert.ErrorIs(t, err, context.Canceled)
}

// Classes have probabilities whose loss is near that of the truth, with factors of classes and
// labels.
func TestKernelOfAllRowsOfClasses(t *testing.T) {
	rows, other := table[float64](400, 1, 1, 0, math0), table[float64](1000, 1, 2, 0, math0)
	for _, b := range []ridge.Block[float64]{rows, other} {
		for i := range b.Y.Data {
			if math.Sin(5*b.X.Data[i]) > 0 {
				b.Y.Data[i] = 1
			}
		}
	}
	o := automl.Options{Classes: 2, Labels: []string{"no", "yes"}, ClassWeights: []float64{1, 2}}
	r, done, err := automl.KernelFit(t.Context(), rows, o, kernels.Matern{Nu: 2.5, LengthScale: 1}, 1)
	require.NoError(t, err)
	require.True(t, done)
	assert.Equal(t, o.Labels, r.Model.Labels())
	p := r.Model.Probabilities(dense.Matrix[float64]{}, other.X)
	wrong := 0
	for i, c := range other.Y.Data {
		if p.At(i, int(c)) < 0.5 {
			wrong++
		}
	}
	assert.Less(t, wrong, 50)
}

func math0([]float64) float64 { return 0 }

// Fit takes the kernel of all rows from 3001 rows on, of targets with a large mean too.
func TestFitTakesAllRows(t *testing.T) {
	wave := func(rng *rand.Rand, x, y []float64) { y[0] = 1e6 + math.Sin(9*x[0]) + 0.1*rng.NormFloat64() }
	r := learn(t, uniform(3001, 1, 1, 1, wave), automl.Options{})
	assert.Contains(t, r.Kernel, ", of all rows", r.String())
	x, _ := automl.First(r.Model).Rows()
	assert.Equal(t, 3001, x.Rows)
	assert.Less(t, rmse(r.Model, uniform(500, 1, 1, 2, wave)), 0.13)
	assert.InDelta(t, 0.9, inside(r.Model, uniform(500, 1, 1, 2, wave)), 4*math.Sqrt(0.09/500))
}

// Groups of ten rows take the kernel of all rows without errors at rows left out: probabilities
// come from the held-out scores, and bands from the held-out errors.
func TestGroupsTakeAllRows(t *testing.T) {
	groups := make([]int, 3010)
	for i := range groups {
		groups[i] = i / 10
	}
	side := func(rng *rand.Rand, x, y []float64) {
		if math.Sin(9*x[0])+0.3*rng.NormFloat64() > 0 {
			y[0] = 1
		}
	}
	r := learn(t, uniform(3010, 1, 1, 1, side), automl.Options{Classes: 2, Groups: groups})
	assert.Contains(t, r.Kernel, ", of all rows", r.String())
	other := uniform(1000, 1, 1, 2, side)
	p, loss := r.Model.Probabilities(dense.Matrix[float64]{}, other.X), 0.0
	for i := range p.Rows {
		loss -= math.Log(p.At(i, int(other.Y.At(i, 0)))) / float64(p.Rows)
	}
	assert.InDelta(t, r.Score, loss, 0.06, "four standard errors of 1000 rows")
}
