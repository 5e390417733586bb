package orf_test

import (
	"fmt"
	"testing"
	"unsafe"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func benchmarkProject[T dense.Float](b *testing.B) {
	const rows = 256
	for _, c := range constructions[T]() {
		for _, n := range []int{64, 1024} {
			b.Run(fmt.Sprintf("%s/n=%d", c.name, n), func(b *testing.B) {
				p, err := c.draw(n, n, exprand.NewSource(1))
				if err != nil {
					b.Fatal(err)
				}
				x, y := densetest.Gapped[T](1, rows, n), dense.New[T](rows, n)
				b.SetBytes(int64(len(y.Data)) * int64(unsafe.Sizeof(y.Data[0])))
				b.ReportAllocs()
				for b.Loop() {
					p.Project(y, x)
				}
				b.ReportMetric(1e-9*rows*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds(), "Gmadd/s-of-the-dense-product")
			})
		}
	}
}

// BenchmarkProject projects 256 points of R^n onto n frequencies.
func BenchmarkProject(b *testing.B) {
	b.Run("type=float32", benchmarkProject[float32])
	b.Run("type=float64", benchmarkProject[float64])
}
