package rff_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
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
		f, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
		require.NoError(b, err)
		return f
	}
	x := points[T](1, n, d, 0.1)
	first, err := rff.PCA(x.RowRange(0, 1000), r, true)
	require.NoError(b, err)
	composed, err := rff.Compose(first, gaussian(r))
	require.NoError(b, err)
	at := func(name string, d int) string { return fmt.Sprintf("map=%s/n=%d/d=%d/D=%d", name, n, d, 2*m) }
	throughput(b, at("gaussian", r), gaussian(r), points[T](1, n, r, 0.1))
	throughput(b, at("whitened", d), composed, x)
}
