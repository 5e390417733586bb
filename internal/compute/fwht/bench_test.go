package fwht

import (
	"fmt"
	"testing"
)

func benchmark[T Float](b *testing.B) {
	for t := 1; t <= 24; t++ {
		x := make([]T, 1<<t)
		b.Run(fmt.Sprintf("n=%d", len(x)), func(b *testing.B) {
			Transform(x) // touches every page
			b.ReportAllocs()
			for b.Loop() {
				Transform(x)
			}
			b.ReportMetric(float64(t)*float64(len(x))*float64(b.N)/b.Elapsed().Seconds()*1e-9, "Gadd/s")
		})
	}
}

func BenchmarkTransform(b *testing.B) {
	b.Run("type=float32", benchmark[float32])
	b.Run("type=float64", benchmark[float64])
}
