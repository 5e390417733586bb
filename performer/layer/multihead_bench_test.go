package layer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// BenchmarkMultiHeadRotary times exact causal attention of 8 heads on 2048 rows of dimension 512,
// float32, with norms of queries and keys and rotary positions, and without.
func BenchmarkMultiHeadRotary(b *testing.B) {
	for _, with := range []bool{false, true} {
		p, opts := must.Have(layer.Draw[float32](layer.Widths{Input: 512, Heads: 8}, densetest.Source(291))), layer.Options{}
		if with {
			opts.Rotary = new(layer.RotaryOptions)
			p.QueryNorm, p.KeyNorm = sines[float32](1, 64, 1).Data, sines[float32](1, 64, 2).Data
		}
		l := must.Have(layer.New(p, batch(8, 8, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}))), opts))
		benchmarkCalls(b, fmt.Sprintf("rotary=%v", with), l)
	}
}

func benchmarkCalls(b *testing.B, name string, l *layer.MultiHead[float32]) {
	const n = 2048
	x, dx := densetest.Normal[float32](rand.New(densetest.Source(292)), n, 512, 0, 1), dense.New[float32](n, 512)
	dw := new(layer.Projections[float32])
	for call, f := range map[string]func(){
		"forward":  func() { l.Forward(dx, x, performer.Sequences{}) },
		"backward": func() { l.Backward(dx, dw, x, x, performer.Sequences{}) },
	} {
		b.Run(call+"/"+name, func(b *testing.B) {
			for range 3 {
				f() // scratch memory, for every processor
			}
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkMultiHead times the outputs and the gradients, with respect to parameters too, of a
// layer of 8 heads on 2048 rows of dimension 512, float32.
func BenchmarkMultiHead(b *testing.B) {
	p := must.Have(layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, densetest.Source(291)))
	for _, f := range []struct {
		name string
		form performer.Attention[float32]
	}{
		{"linear", must.Have(performer.NewLinear(maptest.Positive[float32](256, 64), performer.LinearOptions{}))},
		{"causal", must.Have(performer.NewLinear(maptest.Positive[float32](256, 64), performer.LinearOptions{Causal: true}))},
		{"exact", must.Have(performer.NewExact[float32](performer.ExactOptions{}))},
	} {
		benchmarkCalls(b, "form="+f.name, must.Have(layer.New(p, batch(8, 8, f.form), layer.Options{})))
	}
}
