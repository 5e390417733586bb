package landmarks_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/landmarks"
)

func BenchmarkLandmarks(b *testing.B) {
	const rows, d, n = 10000, 16, 200
	x := points[float64](1, rows, d, 1)
	for _, way := range []struct {
		name string
		f    func() (dense.Matrix[float64], error)
	}{
		{"uniform", func() (dense.Matrix[float64], error) {
			return landmarks.Uniform(x, n, exprand.NewSource(1))
		}},
		{"kmeans", func() (dense.Matrix[float64], error) {
			c, err := kmeans.Cluster(b.Context(), x, n, 10, kmeans.Options[float64]{}, exprand.NewSource(1))
			return c.Centres, err
		}},
		{"pivoted", func() (dense.Matrix[float64], error) {
			return landmarks.Pivoted(b.Context(), kernels.Gaussian{LengthScale: 4}, x, n, exprand.NewSource(1))
		}},
	} {
		b.Run(fmt.Sprintf("way=%s/N=%d/d=%d/n=%d", way.name, rows, d, n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := way.f()
				require.NoError(b, err)
			}
			b.ReportMetric(1e-6*float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "Mrows/s")
		})
	}
}
