package performer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
)

// BenchmarkBackward times what BenchmarkAttention does for the positive map and exact
// attention, and the gradients. Names read
//
//	BenchmarkBackward/form=linear/type=float32/heads=1/L=4096
func BenchmarkBackward(b *testing.B) {
	b.Run("form=linear/type=float32", func(b *testing.B) {
		benchmarkBackward(b, attention(maptest.Positive[float32](256, 64), performer.LinearOptions{}), 65536)
	})
	b.Run("form=linear/type=float64", func(b *testing.B) {
		benchmarkBackward(b, attention(maptest.Positive[float64](256, 64), performer.LinearOptions{}))
	})
	b.Run("form=causal/type=float32", func(b *testing.B) {
		benchmarkBackward(b, attention(maptest.Positive[float32](256, 64), performer.LinearOptions{Causal: true}), 65536)
	})
	b.Run("form=causal/type=float64", func(b *testing.B) {
		benchmarkBackward(b, attention(maptest.Positive[float64](256, 64), performer.LinearOptions{Causal: true}))
	})
	b.Run("form=exact/type=float32", func(b *testing.B) {
		benchmarkBackward(b, must.Have(performer.NewExact[float32](performer.ExactOptions{})))
	})
	b.Run("form=exact/type=float64", func(b *testing.B) {
		benchmarkBackward(b, must.Have(performer.NewExact[float64](performer.ExactOptions{})))
	})
	b.Run("form=exactcausal/type=float32", func(b *testing.B) {
		benchmarkBackward(b, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})))
	})
}

func benchmarkBackward[T dense.Float](b *testing.B, form differentiable[T], more ...int) {
	for _, n := range append([]int{1024, 4096}, more...) {
		b.Run(fmt.Sprintf("heads=1/L=%d", n), func(b *testing.B) { benchmarkGradients(b, form, 1, n) })
	}
	b.Run("heads=8/L=4096", func(b *testing.B) {
		benchmarkGradients[T](b, must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 8}, form)), 8, 4096)
	})
}

func benchmarkGradients[T dense.Float](b *testing.B, form differentiable[T], heads, n int) {
	const d = 64
	rng := rand.New(densetest.Source(70))
	q, k := densetest.Normal[T](rng, n, heads*d, 0, 0.35), densetest.Normal[T](rng, n, heads*d, 0, 0.35)
	v, dout := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1)
	dq, dk, dv := dense.New[T](n, heads*d), dense.New[T](n, heads*d), dense.New[T](n, heads*d)
	for range 3 {
		form.Backward(dq, dk, dv, q, k, v, dout) // scratch memory, for every processor
	}
	b.ReportAllocs()
	for b.Loop() {
		form.Backward(dq, dk, dv, q, k, v, dout)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
