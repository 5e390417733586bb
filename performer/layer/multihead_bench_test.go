package layer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// BenchmarkMultiHead times a layer of 8 heads on 2048 rows of dimension 512, float32.
func BenchmarkMultiHead(b *testing.B) {
	const n = 2048
	p := must(layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, source(291)))
	x, dst := densetest.Normal[float32](rand.New(source(292)), n, 512, 0, 1), dense.New[float32](n, 512)
	for _, f := range []struct {
		name string
		form performer.Form[float32]
	}{
		{"linear", linear(positive[float32](256, 64), performer.Options{})},
		{"exact", performer.Exact[float32]{}},
	} {
		b.Run("form="+f.name, func(b *testing.B) {
			l := must(layer.New(p, batch(8, 8, f.form)))
			for range 3 {
				l.Forward(dst, x, performer.Sequences{}) // scratch memory, for every processor
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Forward(dst, x, performer.Sequences{})
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkMultiHeadBackward times the gradients of what BenchmarkMultiHead does, those of
// all parameters included.
func BenchmarkMultiHeadBackward(b *testing.B) {
	const n = 2048
	p := must(layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, source(291)))
	x, dx := densetest.Normal[float32](rand.New(source(292)), n, 512, 0, 1), dense.New[float32](n, 512)
	for _, f := range []struct {
		name string
		form performer.Form[float32]
	}{
		{"linear", linear(positive[float32](256, 64), performer.Options{})},
		{"causal", linear(positive[float32](256, 64), performer.Options{Causal: true})},
		{"exact", performer.Exact[float32]{}},
	} {
		b.Run("form="+f.name, func(b *testing.B) {
			l, dw := must(layer.New(p, batch(8, 8, f.form))), new(layer.Projections[float32])
			for range 3 {
				l.Backward(dx, dw, x, x, performer.Sequences{}) // scratch memory, for every processor
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Backward(dx, dw, x, x, performer.Sequences{})
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
