package performer

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
)

// BenchmarkMultiHeadBackward times the gradients of what BenchmarkMultiHead does, those of
// all parameters included.
func BenchmarkMultiHeadBackward(b *testing.B) {
	const n = 2048
	p := must(RandomProjections[float32](Widths{Input: 512, Heads: 8, Bias: true}, source(291)))
	x, dx := gaussian[float32](rand.New(source(292)), n, 512, 0, 1), dense.New[float32](n, 512)
	for _, f := range []struct {
		name string
		form Form[float32]
	}{
		{"linear", attention(positive[float32](256, 64), Options{})},
		{"causal", attention(positive[float32](256, 64), Options{Causal: true})},
		{"exact", Exact[float32]{}},
	} {
		b.Run("form="+f.name, func(b *testing.B) {
			l, dw := must(NewMultiHead(p, 8, 8, f.form)), new(Projections[float32])
			for range 3 {
				l.Backward(dx, dw, x, x, Sequences{}) // scratch memory, for every processor
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Backward(dx, dw, x, x, Sequences{})
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
