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

// BenchmarkMultiHead times a layer of 8 heads on 2048 rows of dimension 512, float32.
func BenchmarkMultiHead(b *testing.B) {
	const n = 2048
	p := must.Have(layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, densetest.Source(291)))
	x, dst := densetest.Normal[float32](rand.New(densetest.Source(292)), n, 512, 0, 1), dense.New[float32](n, 512)
	for _, f := range []struct {
		name string
		form performer.Attention[float32]
	}{
		{"linear", must.Have(performer.NewLinear(maptest.Positive[float32](256, 64), performer.LinearOptions{}))},
		{"exact", must.Have(performer.NewExact[float32](performer.ExactOptions{}))},
	} {
		b.Run("form="+f.name, func(b *testing.B) {
			l := must.Have(layer.New(p, batch(8, 8, f.form), layer.Options{}))
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
	p := must.Have(layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, densetest.Source(291)))
	x, dx := densetest.Normal[float32](rand.New(densetest.Source(292)), n, 512, 0, 1), dense.New[float32](n, 512)
	for _, f := range []struct {
		name string
		form performer.Attention[float32]
	}{
		{"linear", must.Have(performer.NewLinear(maptest.Positive[float32](256, 64), performer.LinearOptions{}))},
		{"causal", must.Have(performer.NewLinear(maptest.Positive[float32](256, 64), performer.LinearOptions{Causal: true}))},
		{"exact", must.Have(performer.NewExact[float32](performer.ExactOptions{}))},
	} {
		b.Run("form="+f.name, func(b *testing.B) {
			l, dw := must.Have(layer.New(p, batch(8, 8, f.form), layer.Options{})), new(layer.Projections[float32])
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

// BenchmarkMultiHeadRotary times exact causal attention of 8 heads on 2048 rows of dimension 512,
// float32, with norms of queries and keys and rotary positions, and without.
func BenchmarkMultiHeadRotary(b *testing.B) {
	const n = 2048
	x, dx := densetest.Normal[float32](rand.New(densetest.Source(292)), n, 512, 0, 1), dense.New[float32](n, 512)
	for _, with := range []bool{false, true} {
		p, opts := must.Have(layer.Draw[float32](layer.Widths{Input: 512, Heads: 8}, densetest.Source(291))), layer.Options{}
		if with {
			opts.Rotary = new(layer.RotaryOptions)
			p.QueryNorm, p.KeyNorm = sines[float32](1, 64, 1).Data, sines[float32](1, 64, 2).Data
		}
		l, dw := must.Have(layer.New(p, batch(8, 8, must.Have(performer.NewExact[float32](performer.ExactOptions{Causal: true}))), opts)), new(layer.Projections[float32])
		for _, call := range []struct {
			name string
			f    func()
		}{
			{"forward", func() { l.Forward(dx, x, performer.Sequences{}) }},
			{"backward", func() { l.Backward(dx, dw, x, x, performer.Sequences{}) }},
		} {
			b.Run(fmt.Sprintf("%s/rotary=%v", call.name, with), func(b *testing.B) {
				call.f() // scratch memory
				b.ReportAllocs()
				for b.Loop() {
					call.f()
				}
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}
