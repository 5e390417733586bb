package rff_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// BenchmarkPrepared has maps that prepare points beside the maps they prepare them
// for.
func BenchmarkPrepared(b *testing.B) {
	b.Run("type=float32", benchmarkPrepared[float32])
	b.Run("type=float64", benchmarkPrepared[float64])
}

func benchmarkPrepared[T dense.Float](b *testing.B) {
	const n, d, r, m = 10000, 128, 64, 512
	gaussian := func(d int) rff.Map[T] {
		w, err := orf.Draw[T](orf.GramSchmidt{}, m, d, exprand.NewSource(1))
		require.NoError(b, err)
		f, err := rff.Gaussian(w, 1)
		require.NoError(b, err)
		return f
	}
	x := points[T](1, n, d, 0.1)
	first, err := rff.PCA(x.RowRange(0, 1000), r, true)
	require.NoError(b, err)
	composed, err := rff.Compose(first, gaussian(r))
	require.NoError(b, err)
	homogeneous, err := rff.Homogeneous(gaussian(r))
	require.NoError(b, err)
	at := func(name string, d int) string { return fmt.Sprintf("map=%s/n=%d/d=%d/D=%d", name, n, d, 2*m) }
	throughput(b, at("gaussian", r), gaussian(r), points[T](1, n, r, 0.1))
	throughput(b, at("homogeneous", r), homogeneous, points[T](1, n, r, 0.1))
	throughput(b, at("whitened", d), composed, x)
}

func BenchmarkConvolution(b *testing.B) {
	b.Run("type=float32", benchmarkConvolution[float32])
	b.Run("type=float64", benchmarkConvolution[float64])
}

func benchmarkConvolution[T dense.Float](b *testing.B) {
	const n, m = 100, 128
	for _, p := range []kernels.Patches{
		{Height: 28, Width: 28, Size: 5, Pool: 8},
		{Height: 32, Width: 32, Channels: 3, Size: 6, Stride: 2, Pool: 7},
	} {
		image, patch := p.Dims()
		w, err := orf.Draw[T](orf.GramSchmidt{}, m, patch, exprand.NewSource(1))
		require.NoError(b, err)
		inner, err := rff.Gaussian(w, 1)
		require.NoError(b, err)
		f, err := rff.Convolution(rff.Map[T](inner), p)
		require.NoError(b, err)
		rows, cols := p.Grid()
		throughput(b, fmt.Sprintf("n=%d/image=%d/patches=%d/patch=%d/m=%d", n, image, rows*cols, patch, m), f, points[T](1, n, image, 0.1))
	}
}
