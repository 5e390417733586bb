package performer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
)

// BenchmarkDecode times one step of a decoder, a token of eight heads of d = dv = 64
// and m = 256 positive features, after so many tokens. Names read
//
//	BenchmarkDecode/type=float32/heads=8/past=1000
func BenchmarkDecode(b *testing.B) {
	b.Run("type=float32", benchmarkDecode[float32])
	b.Run("type=float64", benchmarkDecode[float64])
}

func benchmarkDecode[T dense.Float](b *testing.B) {
	const d, heads, tokens = 64, 8, 1000
	rng := rand.New(source(71))
	q, k := gaussian[T](rng, tokens, heads*d, 0, 0.35), gaussian[T](rng, tokens, heads*d, 0, 0.35)
	v, dst := gaussian[T](rng, tokens, heads*d, 0, 1), dense.New[T](1, heads*d)
	h := must(NewBatch[T](heads, heads, attention(positive[T](256, d), Options{Causal: true})))
	for _, past := range []int{1000, 1000000} {
		b.Run(fmt.Sprintf("heads=%d/past=%d", heads, past), func(b *testing.B) {
			s := must(h.NewState(d))
			for s.Len() < past {
				s.Append(k, v)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Step(dst, q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
				i = (i + 1) % tokens
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
