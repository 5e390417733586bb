package performer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
)

// BenchmarkAttention times heads of d = dv = 64 and, for the positive map, m = 256
// features, for landmarks as many landmarks, with their choice. Eight heads are the columns of L×512 matrices. The GFLOP/s are those of
// the products that attention asks for, whatever else is computed. Names read
//
//	BenchmarkAttention/form=linear/map=positive/type=float32/heads=1/L=4096
func BenchmarkAttention(b *testing.B) {
	b.Run("form=linear", func(b *testing.B) { benchmarkMaps(b, Options{}) })
	b.Run("form=causal", func(b *testing.B) { benchmarkMaps(b, Options{Causal: true}) })
	b.Run("form=landmarks/map=softmax", func(b *testing.B) {
		s := Shape{Features: 256, Projected: true}
		lengths := []int{4096, 16384, 65536}
		b.Run("type=float32", func(b *testing.B) {
			benchmarkForm[float32](b, must(NewLandmarks(Exact[float32]{Scale: 1}, 256, source(1))), Shape.Linear, s, lengths)
		})
		b.Run("type=float64", func(b *testing.B) {
			benchmarkForm[float64](b, must(NewLandmarks(Exact[float64]{Scale: 1}, 256, source(1))), Shape.Linear, s, lengths)
		})
	})
	b.Run("form=exact/map=softmax", func(b *testing.B) {
		lengths := []int{1024, 4096, 16384}
		b.Run("type=float32", func(b *testing.B) { benchmarkForm[float32](b, Exact[float32]{}, Shape.Exact, Shape{}, lengths) })
		b.Run("type=float64", func(b *testing.B) { benchmarkForm[float64](b, Exact[float64]{}, Shape.Exact, Shape{}, lengths) })
	})
}

func benchmarkMaps(b *testing.B, opts Options) {
	b.Run("map=positive", func(b *testing.B) {
		s := Shape{Features: 256, Projected: true, Causal: opts.Causal}
		b.Run("type=float32", func(b *testing.B) { benchmarkMap(b, positive[float32](256, 64), opts, s, 1<<20) })
		b.Run("type=float64", func(b *testing.B) { benchmarkMap(b, positive[float64](256, 64), opts, s) })
	})
	b.Run("map=elu", func(b *testing.B) {
		s := Shape{Features: 64, Causal: opts.Causal}
		b.Run("type=float32", func(b *testing.B) { benchmarkMap[float32](b, must(rff.ELU[float32](64)), opts, s) })
		b.Run("type=float64", func(b *testing.B) { benchmarkMap[float64](b, must(rff.ELU[float64](64)), opts, s) })
	})
}

func benchmarkMap[T dense.Float](b *testing.B, m rff.Map[T], opts Options, s Shape, more ...int) {
	lengths := append([]int{1024, 4096, 16384, 65536}, more...)
	benchmarkForm[T](b, attention(m, opts), Shape.Linear, s, lengths)
}

func benchmarkForm[T dense.Float](b *testing.B, form Form[T], cost func(Shape) Cost, s Shape, lengths []int) {
	for _, n := range lengths {
		b.Run(fmt.Sprintf("heads=1/L=%d", n), func(b *testing.B) { benchmarkHeads(b, form, 1, n, cost, s) })
	}
	b.Run("heads=8/L=4096", func(b *testing.B) {
		benchmarkHeads[T](b, must(NewBatch(8, 8, form)), 8, 4096, cost, s)
	})
}

func benchmarkHeads[T dense.Float](b *testing.B, form Form[T], heads, n int, cost func(Shape) Cost, s Shape) {
	const d = 64
	s.Queries, s.Keys, s.Dim, s.Values, s.ElementSize = n, n, d, d, int(unsafe.Sizeof(T(0)))
	rng := rand.New(source(70))
	// Norms are those of q/d^¼ for standard normal q.
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 0.35), densetest.Normal[T](rng, n, heads*d, 0, 0.35), densetest.Normal[T](rng, n, heads*d, 0, 1)
	dst := dense.New[T](n, heads*d)
	for range 3 {
		form.Forward(dst, q, k, v) // scratch memory, for every processor
	}
	b.ReportAllocs()
	for b.Loop() {
		form.Forward(dst, q, k, v)
	}
	calls := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(2*cost(s).MACs*float64(heads)*calls/1e9, "GFLOP/s")
	b.ReportMetric(float64(n)*calls, "tokens/s")
}
