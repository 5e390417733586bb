package performer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// BenchmarkAttention times one head with d = dv = 64 and, for the positive
// map, m = 256 features. Names read
// BenchmarkAttention/form=linear/map=positive/type=float32/heads=1/L=4096;
// form=exact has no map.
func BenchmarkAttention(b *testing.B) {
	b.Run("form=linear", func(b *testing.B) { benchmarkMaps(b, Options{}) })
	b.Run("form=causal", func(b *testing.B) { benchmarkMaps(b, Options{Causal: true}) })
	b.Run("form=exact", func(b *testing.B) {
		b.Run("type=float32", func(b *testing.B) { benchmarkForm(b, Exact[float32]{}, 64, []int{1024, 4096}) })
		b.Run("type=float64", func(b *testing.B) { benchmarkForm(b, Exact[float64]{}, 64, []int{1024, 4096}) })
	})
}

func benchmarkMaps(b *testing.B, opts Options) {
	b.Run("map=positive", func(b *testing.B) {
		b.Run("type=float32", func(b *testing.B) { benchmarkMap(b, positive[float32](256, 64), opts) })
		b.Run("type=float64", func(b *testing.B) { benchmarkMap(b, positive[float64](256, 64), opts) })
	})
	b.Run("map=elu", func(b *testing.B) {
		b.Run("type=float32", func(b *testing.B) { benchmarkMap[float32](b, must(rff.ELU[float32](64)), opts) })
		b.Run("type=float64", func(b *testing.B) { benchmarkMap[float64](b, must(rff.ELU[float64](64)), opts) })
	})
}

func benchmarkMap[T dense.Float](b *testing.B, m rff.Map[T], opts Options) {
	benchmarkForm(b, attention(m, opts), 64, []int{1024, 4096, 16384, 65536})
}

func benchmarkForm[T dense.Float](b *testing.B, form Form[T], d int, lengths []int) {
	for _, n := range lengths {
		b.Run(fmt.Sprintf("heads=1/L=%d", n), func(b *testing.B) {
			rng := rand.New(source(70))
			// Norms are those of q/d^¼ for standard normal q.
			q, k, v := gaussian[T](rng, n, d, 0, 0.35), gaussian[T](rng, n, d, 0, 0.35), gaussian[T](rng, n, d, 0, 1)
			dst := dense.New[T](n, d)
			b.ReportAllocs()
			for b.Loop() {
				form.Forward(dst, q, k, v)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
