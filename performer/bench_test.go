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
	"github.com/seed-feabd252/randfeat/rff"
)

// BenchmarkAttention times heads of d = dv = 64 and, for the positive map, m = 256 features. Eight
// heads are the columns of L×512 matrices. The GFLOP/s are those of the products that attention
// asks for, whatever else is computed. Names read
//
//	BenchmarkAttention/form=linear/map=positive/type=float32/heads=1/L=4096
func BenchmarkAttention(b *testing.B) {
	b.Run("form=linear", func(b *testing.B) { benchmarkMaps(b, performer.LinearOptions{}) })
	b.Run("form=causal", func(b *testing.B) { benchmarkMaps(b, performer.LinearOptions{Causal: true}) })
	b.Run("form=exact/window=256/causal=true/type=float32", func(b *testing.B) {
		benchmarkForm[float32](b, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Window: 255})), func(n int) int { return n * 256 * 2 * benchmarkDim }, []int{4096, 16384, 65536})
	})
	b.Run("form=exact/window=256/causal=false/type=float32", func(b *testing.B) {
		benchmarkForm[float32](b, must.Have(performer.NewExact[float32](performer.ExactOptions{Window: 256})), func(n int) int { return n * 513 * 2 * benchmarkDim }, []int{4096, 16384, 65536})
	})
	b.Run("form=exact/bits=8/type=float32", func(b *testing.B) {
		benchmarkForm[float32](b, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})), func(n int) int { return n * n * 2 * benchmarkDim }, []int{1024, 4096, 16384})
	})
	b.Run("form=exact/bits=8/causal=true/type=float32", func(b *testing.B) {
		benchmarkForm[float32](b, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Bits: 8})), func(n int) int { return n * n * benchmarkDim }, []int{4096, 16384})
	})
	b.Run("form=exact/causal=true/type=float32", func(b *testing.B) {
		benchmarkForm[float32](b, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})), func(n int) int { return n * n * benchmarkDim }, []int{4096, 16384})
	})
	b.Run("form=exact/map=softmax", func(b *testing.B) {
		lengths := []int{1024, 4096, 16384}
		macs := func(n int) int { return n * n * 2 * benchmarkDim }
		b.Run("type=float32", func(b *testing.B) {
			benchmarkForm[float32](b, must.Have(performer.NewExact[float32](performer.ExactOptions{})), macs, lengths)
		})
		b.Run("type=float64", func(b *testing.B) {
			benchmarkForm[float64](b, must.Have(performer.NewExact[float64](performer.ExactOptions{})), macs, lengths)
		})
	})
}

// benchmarkDim is the dimension of queries, keys and values.
const benchmarkDim = 64

// featureMACs returns the number of multiply-adds for n queries and keys with m features, which are
// functions of projections of d coordinates each. Causal attention adds pairs in chunks of 64
// tokens.
func featureMACs(m, d int, causal bool) func(n int) int {
	return func(n int) int {
		macs := 2 * n * m * (d + benchmarkDim + 1)
		if causal {
			macs += n * 64 * (m + benchmarkDim + 1)
		}
		return macs
	}
}

func benchmarkMaps(b *testing.B, opts performer.LinearOptions) {
	b.Run("map=positive", func(b *testing.B) {
		macs := featureMACs(256, benchmarkDim, opts.Causal)
		b.Run("type=float32", func(b *testing.B) { benchmarkMap(b, maptest.Positive[float32](256, 64), opts, macs, 1<<20) })
		b.Run("type=float64", func(b *testing.B) { benchmarkMap(b, maptest.Positive[float64](256, 64), opts, macs) })
	})
	b.Run("map=elu", func(b *testing.B) {
		macs := featureMACs(64, 0, opts.Causal)
		b.Run("type=float32", func(b *testing.B) {
			benchmarkMap[float32](b, must.Have(rff.Draw[float32](rff.ELU{D: 64}, nil)), opts, macs)
		})
		b.Run("type=float64", func(b *testing.B) {
			benchmarkMap[float64](b, must.Have(rff.Draw[float64](rff.ELU{D: 64}, nil)), opts, macs)
		})
	})
}

func benchmarkMap[T dense.Float](b *testing.B, m rff.Map[T], opts performer.LinearOptions, macs func(n int) int, more ...int) {
	lengths := append([]int{1024, 4096, 16384, 65536}, more...)
	benchmarkForm[T](b, attention(m, opts), macs, lengths)
}

func benchmarkForm[T dense.Float](b *testing.B, form performer.Attention[T], macs func(n int) int, lengths []int) {
	for _, n := range lengths {
		b.Run(fmt.Sprintf("heads=1/L=%d", n), func(b *testing.B) { benchmarkHeads(b, form, 1, n, macs) })
	}
	b.Run("heads=8/L=4096", func(b *testing.B) {
		benchmarkHeads[T](b, must.Have(performer.NewBatch(performer.BatchOptions{Heads: 8}, form)), 8, 4096, macs)
	})
}

func benchmarkHeads[T dense.Float](b *testing.B, form performer.Attention[T], heads, n int, macs func(n int) int) {
	const d = benchmarkDim
	rng := rand.New(densetest.Source(70))
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
	b.ReportMetric(2*float64(macs(n)*heads)*calls/1e9, "GFLOP/s")
	b.ReportMetric(float64(n)*calls, "tokens/s")
}
