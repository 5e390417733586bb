package rff_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

func BenchmarkNystroem(b *testing.B) {
	b.Run("type=float32", benchmarkNystroem[float32])
	b.Run("type=float64", benchmarkNystroem[float64])
}

func benchmarkNystroem[T dense.Float](b *testing.B) {
	const n, d = 10000, 64
	x := points[T](1, n, d, 0.1)
	for _, D := range []int{512, 1024, 2000} {
		var f rff.Map[T]
		b.Run(fmt.Sprintf("landmarks/d=%d/D=%d", d, D), func(b *testing.B) {
			for b.Loop() {
				var err error
				f, err = rff.Nystroem(kernels.Gaussian{LengthScale: 2}, x.RowRange(0, D))
				require.NoError(b, err)
			}
		})
		throughput(b, fmt.Sprintf("rows/n=%d/d=%d/D=%d", n, d, D), f, x)
	}
}

// throughput runs f on x.
func throughput[T dense.Float](b *testing.B, name string, f rff.Map[T], x dense.Matrix[T]) {
	b.Run(name, func(b *testing.B) {
		_, out := f.Dims()
		dst := dense.New[T](x.Rows, out)
		b.ReportAllocs()
		b.SetBytes(int64(len(x.Data)+len(dst.Data)) * int64(unitSize[T]()))
		for b.Loop() {
			f.Transform(dst, x)
		}
		b.ReportMetric(1e-6*float64(len(dst.Data))*float64(b.N)/b.Elapsed().Seconds(), "Mfeatures/s")
	})
}
