package rff_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// grids are ways to cut images; the last has more patches than are worked on at a
// time.
var grids = []kernels.Patches{
	{Height: 5, Width: 4, Channels: 2, Size: 2, Pool: 2},
	{Height: 5, Width: 5, Size: 3, Stride: 2, Padding: 1},
	{Height: 3, Width: 6, Size: 2, Stride: 2, Padding: 1, Pool: 1},
	{Height: 18, Width: 18, Size: 2, Pool: 9},
}

// An exact map of patches makes the convolutional map exact.
func testConvolutionIsExact[T dense.Float](t *testing.T) {
	for _, p := range grids {
		image, patch := p.Dims()
		inner, err := rff.Taylor[T](patch, 0.5)
		require.NoError(t, err)
		f, err := rff.Convolution(rff.Map[T](inner), p)
		require.NoError(t, err)
		assert.Equal(t, kernels.Convolution{K: inner.Kernel(), Patches: p}, f.Kernel())
		x := points[T](1, 9, image, 1)
		phi := wide(f.Transform(dense.Matrix[T]{}, x))
		for i := range x.Rows {
			for j := range i + 1 {
				want := f.Kernel().Eval(wide(x).Row(i), wide(x).Row(j))
				size := floats.Norm(phi.Row(i), 2) * floats.Norm(phi.Row(j), 2)
				// A sum over the at most 324 patches of a cell, and Taylor's own
				// rounding.
				assert.InDelta(t, want, floats.Dot(phi.Row(i), phi.Row(j)), 340*densetest.Roundoff[T]()*size, "%+v (%d, %d)", p, i, j)
			}
		}
	}
}

func TestConvolutionIsExact(t *testing.T) {
	densetest.Both(t, testConvolutionIsExact[float32], testConvolutionIsExact[float64])
}

// The mean over 200 draws is within 4.5 standard errors of the kernel at each of 3
// pairs for 4 grids: a false alarm in 12 tests has a probability of 1e-4. A kernel
// that is 3 % larger is told apart.
func TestConvolutionIsUnbiased(t *testing.T) {
	const draws, m = 200, 16
	caught := 0
	for _, p := range grids {
		image, patch := p.Dims()
		x := points[float64](2, 3, image, 0.7)
		k := kernels.Convolution{K: kernels.Gaussian{LengthScale: 2}, Patches: p}
		var estimates [3][]float64
		src := exprand.NewSource(7)
		for range draws {
			w, err := orf.Draw[float64](orf.GramSchmidt{}, m, patch, src)
			require.NoError(t, err)
			inner, err := rff.Gaussian(w, 2)
			require.NoError(t, err)
			f, err := rff.Convolution(rff.Map[float64](inner), p)
			require.NoError(t, err)
			phi := f.Transform(dense.Matrix[float64]{}, x)
			for i := range 3 {
				estimates[i] = append(estimates[i], floats.Dot(phi.Row(i), phi.Row((i+1)%3)))
			}
		}
		for i, e := range estimates {
			mean, spread := stat.MeanStdDev(e, nil)
			allowed := 4.5 * stat.StdErr(spread, draws)
			want := k.Eval(x.Row(i), x.Row((i+1)%3))
			assert.InDelta(t, want, mean, allowed, "%+v pair %d", p, i)
			if math.Abs(1.03*want-mean) > allowed {
				caught++
			}
		}
	}
	assert.GreaterOrEqual(t, caught, 6, "a bias of 3 % is seen")
}

// Moving a pattern inside one cell changes nothing; moving it to another does.
func TestConvolutionForgetsPlacesInACell(t *testing.T) {
	p := kernels.Patches{Height: 8, Width: 8, Size: 2, Stride: 1, Padding: 1}
	image := func(top, left int) []float64 {
		x := make([]float64, 64)
		x[top*8+left], x[(top+1)*8+left], x[(top+1)*8+left+1] = 1, 2, -1
		return x
	}
	x := dense.Of(3, 64, append(append(image(1, 1), image(5, 2)...), image(3, 6)...))
	w, err := orf.Draw[float64](orf.IID{}, 10, 4, exprand.NewSource(3))
	require.NoError(t, err)
	inner, err := rff.Gaussian(w, 1)
	require.NoError(t, err)
	for _, c := range []struct {
		pool int
		same bool
	}{{0, true}, {3, false}} {
		p.Pool = c.pool
		f, err := rff.Convolution(rff.Map[float64](inner), p)
		require.NoError(t, err)
		phi := f.Transform(dense.Matrix[float64]{}, x)
		for i := 1; i < 3; i++ {
			assert.Equal(t, c.same, floats.Distance(phi.Row(0), phi.Row(i), 2) < 1e-14, "pool %d", c.pool)
		}
	}
}

func TestConvolutionErrors(t *testing.T) {
	p := grids[0]
	three, err := rff.Identity[float64](3)
	require.NoError(t, err)
	_, err = rff.Convolution[float64](nil, p)
	assert.EqualError(t, err, "rff: m is nil, want a map")
	_, err = rff.Convolution(rff.Map[float64](three), p)
	assert.EqualError(t, err, "rff: m is a map of R^3, want R^8, of patches")
	p.Pool = -1
	_, err = rff.Convolution(rff.Map[float64](three), p)
	assert.EqualError(t, err, "rff: p is out of range: kernels: Patches.Pool = -1, want at least 0")
	w, err := orf.Draw[float64](orf.IID{}, 2, 1, exprand.NewSource(3))
	require.NoError(t, err)
	f, err := rff.Convolution(newMap(w, nil, math.Abs), kernels.Patches{Height: 2, Width: 2, Size: 1})
	require.NoError(t, err)
	assert.Nil(t, f.Kernel())
	assert.Equal(t, "Convolution(New(): R^1 → R^2): R^4 → R^2", fmt.Sprint(f))
}
