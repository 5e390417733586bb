package performer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/rff"
)

// BenchmarkCrossover times linear and exact attention in turns and reports how many times as long as
// linear attention exact attention takes, by the least times of each. At a quarter of the length at
// which the linear form is predicted to become the faster one the ratio is below 1, at four times
// that length above 1. The prediction is for one processor (-cpu 1) and for the kernels in assembly.
// Names read
//
//	BenchmarkCrossover/map=positive/type=float32/causal=false/L=4096
func BenchmarkCrossover(b *testing.B) {
	b.Run("map=positive/type=float32", func(b *testing.B) { benchmarkCrossover(b, positive[float32](256, 64), 256, true) })
	b.Run("map=positive/type=float64", func(b *testing.B) { benchmarkCrossover(b, positive[float64](256, 64), 256, true) })
	b.Run("map=elu/type=float32", func(b *testing.B) { benchmarkCrossover[float32](b, must(rff.ELU[float32](64)), 64, false) })
	b.Run("map=elu/type=float64", func(b *testing.B) { benchmarkCrossover[float64](b, must(rff.ELU[float64](64)), 64, false) })
}

func benchmarkCrossover[T dense.Float](b *testing.B, m rff.Map[T], features int, projected bool) {
	const d = 64
	for _, causal := range []bool{false, true} {
		s := Shape{Dim: d, Values: d, Features: features, Projected: projected, Causal: causal, ElementSize: int(unsafe.Sizeof(T(0)))}
		linear, exact := attention(m, Options{Causal: causal}), Exact[T]{Causal: causal}
		at := Crossover(s)
		for _, n := range []int{at / 4, at, 4 * at} {
			b.Run(fmt.Sprintf("causal=%v/L=%d", causal, n), func(b *testing.B) {
				rng := rand.New(source(80))
				q, k, v := densetest.Normal[T](rng, n, d, 0, 0.35), densetest.Normal[T](rng, n, d, 0, 0.35), densetest.Normal[T](rng, n, d, 0, 1)
				dst := dense.New[T](n, d)
				least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
				for b.Loop() {
					for i, form := range []Form[T]{linear, exact} {
						start := time.Now()
						form.Forward(dst, q, k, v)
						least[i] = min(least[i], time.Since(start))
					}
				}
				b.ReportMetric(float64(least[1])/float64(least[0]), "exact/linear")
			})
		}
	}
}
