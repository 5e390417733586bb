package performer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
	"github.com/seed-feabd252/randfeat/rff"
)

// benchmarkDim is the dimension of queries, keys and values.
const benchmarkDim = 64

// benchmarked is attention of a benchmark, with the multiply-adds that it asks for with n tokens,
// whatever else is computed.
type benchmarked[T dense.Float] struct {
	name    string
	form    differentiable[T]
	macs    func(n int) int
	lengths []int
}

// benchmarkedForms returns linear attention, with m = 256 positive features or 64 of elu+1, and
// exact attention. Features are functions of projections of d coordinates each, and causal linear
// attention adds pairs in chunks of 64 tokens.
func benchmarkedForms[T dense.Float]() (all []benchmarked[T]) {
	for _, causal := range []bool{false, true} {
		form, o := map[bool]string{false: "form=linear", true: "form=causal"}[causal], performer.LinearOptions{Causal: causal}
		features := func(m, d int) func(n int) int {
			return func(n int) int {
				macs := 2 * n * m * (d + benchmarkDim + 1)
				if causal {
					macs += n * 64 * (m + benchmarkDim + 1)
				}
				return macs
			}
		}
		all = append(all,
			benchmarked[T]{form + "/map=positive", attention(maptest.Positive[T](256, benchmarkDim), o), features(256, benchmarkDim), []int{1024, 4096, 16384, 65536, 1 << 20}},
			benchmarked[T]{form + "/map=elu", attention(must.Have(rff.Draw[T](rff.ELU{D: benchmarkDim}, nil)), o), features(64, 0), []int{1024, 4096, 16384, 65536}})
	}
	exact := func(name string, o performer.ExactOptions, macs func(n int) int, lengths ...int) {
		all = append(all, benchmarked[T]{"form=exact/" + name, must.Have(performer.NewExact[T](o)), macs, lengths})
	}
	pairs, half := func(n int) int { return n * n * 2 * benchmarkDim }, func(n int) int { return n * n * benchmarkDim }
	exact("map=softmax", performer.ExactOptions{}, pairs, 1024, 4096, 16384)
	exact("causal=true", performer.ExactOptions{Softmax: performer.Softmax{Causal: true}}, half, 4096, 16384)
	exact("bits=8", performer.ExactOptions{Bits: 8}, pairs, 1024, 4096, 16384)
	exact("bits=8/causal=true", performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Bits: 8}, half, 4096, 16384)
	exact("window=256/causal=true", performer.ExactOptions{Softmax: performer.Softmax{Causal: true}, Window: 255}, func(n int) int { return n * 256 * 2 * benchmarkDim }, 4096, 16384, 65536)
	exact("window=256/causal=false", performer.ExactOptions{Window: 256}, func(n int) int { return n * 513 * 2 * benchmarkDim }, 4096, 16384, 65536)
	return all
}

// BenchmarkAttention times heads of d = dv = 64. Eight heads are the columns of L×512 matrices.
// Names read
//
//	BenchmarkAttention/form=linear/map=positive/type=float32/heads=1/L=4096
func BenchmarkAttention(b *testing.B) {
	benchmarkForms[float32](b, "float32", false)
	benchmarkForms[float64](b, "float64", false)
}

// BenchmarkBackward times the gradients of the attention of BenchmarkAttention.
func BenchmarkBackward(b *testing.B) {
	benchmarkForms[float32](b, "float32", true)
	benchmarkForms[float64](b, "float64", true)
}

func benchmarkForms[T dense.Float](b *testing.B, typ string, backward bool) {
	for _, f := range benchmarkedForms[T]() {
		for _, n := range f.lengths {
			b.Run(fmt.Sprintf("%s/type=%s/heads=1/L=%d", f.name, typ, n), func(b *testing.B) { benchmarkHeads(b, f.form, 1, n, f.macs, backward) })
		}
		b.Run(f.name+"/type="+typ+"/heads=8/L=4096", func(b *testing.B) {
			benchmarkHeads[T](b, must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 8}, f.form)), 8, 4096, f.macs, backward)
		})
	}
}

func benchmarkHeads[T dense.Float](b *testing.B, form differentiable[T], heads, n int, macs func(n int) int, backward bool) {
	const d = benchmarkDim
	rng := rand.New(densetest.Source(70))
	// Norms are those of q/d^¼ for standard normal q.
	q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 0.35), densetest.Normal[T](rng, n, heads*d, 0, 0.35), densetest.Normal[T](rng, n, heads*d, 0, 1)
	dst, dk, dv := dense.New[T](n, heads*d), dense.New[T](n, heads*d), dense.New[T](n, heads*d)
	run := func() { form.Forward(dst, q, k, v) }
	if backward {
		run = func() { form.Backward(dst, dk, dv, q, k, v, v) }
	}
	for range 3 {
		run() // scratch memory, for every processor
	}
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	calls := float64(b.N) / b.Elapsed().Seconds()
	if !backward {
		b.ReportMetric(2*float64(macs(n)*heads)*calls/1e9, "GFLOP/s")
	}
	b.ReportMetric(float64(n)*calls, "tokens/s")
}

// BenchmarkDecode times one step of a decoder, a token of eight heads of d = dv after so many
// tokens: linear attention with m = 256 positive features, and exact attention over as many heads
// of keys and over two, in elements or in codes. Names read
//
//	BenchmarkDecode/form=exact/bits=8/type=float32/heads=8/keyHeads=2/d=128/L=8192
//
// with 32 bits for elements. Bytes are those of the State, which exact attention reads once a step.
func BenchmarkDecode(b *testing.B) {
	for _, past := range []int{1000, 1000000} {
		linear := attention(maptest.Positive[float32](256, benchmarkDim), performer.LinearOptions{})
		b.Run(fmt.Sprintf("form=linear/type=float32/heads=8/keyHeads=8/d=64/L=%d", past), func(b *testing.B) { benchmarkStep[float32](b, linear, 8, benchmarkDim, past) })
	}
	for _, bits := range []int{32, 16, 8, 4} {
		for _, c := range []struct{ keyHeads, d, past int }{{8, 64, 1000}, {8, 64, 16384}, {2, 64, 10000}, {2, 128, 8192}} {
			b.Run(fmt.Sprintf("form=exact/bits=%d/type=float32/heads=8/keyHeads=%d/d=%d/L=%d", bits, c.keyHeads, c.d, c.past), func(b *testing.B) {
				benchmarkStep[float32](b, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits % 32})), c.keyHeads, c.d, c.past)
			})
		}
	}
}

// BenchmarkTopK times steps of eight heads of d = dv = 64 that read 256 keys of a head, and steps
// that read all keys, in turns of 20 steps. It reports the shortest step of each. The scores have
// the standard deviation 2. Longer streams need gigabytes, so that they are left out of short runs.
func BenchmarkTopK(b *testing.B) {
	for _, past := range []int{4096, 16384, 131072} {
		if past > 16384 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("L=%d", past), func(b *testing.B) {
			var steps []func()
			var names []string
			for _, bits := range []int{32, 8, 4, 3} {
				for _, topK := range []int{256, 0} {
					step, _ := benchmarkedStep[float32](must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits % 32, TopK: topK})), 8, benchmarkDim, past)
					steps, names = append(steps, step), append(names, fmt.Sprintf("TopK=%d,bits=%d-ns", topK, bits))
				}
			}
			least := make([]time.Duration, len(steps))
			for b.Loop() {
				for i, step := range steps {
					for range 20 {
						start := time.Now()
						step()
						if d := time.Since(start); least[i] == 0 || d < least[i] {
							least[i] = d
						}
					}
				}
			}
			for i, d := range least {
				b.ReportMetric(float64(d), names[i])
			}
		})
	}
}

// benchmarkStep times a step after so many tokens.
func benchmarkStep[T dense.Float](b *testing.B, form performer.Attention[T], keyHeads, d, past int) {
	step, s := benchmarkedStep(form, keyHeads, d, past)
	b.SetBytes(int64(len(must.Have(s.MarshalBinary()))))
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// benchmarkedStep returns a step after so many tokens, which Rollback brings back now and then.
func benchmarkedStep[T dense.Float](form performer.Attention[T], keyHeads, d, past int) (step func(), s *performer.State[T]) {
	const heads, tokens = 8, 512
	rng := rand.New(densetest.Source(72))
	q, k, v := densetest.Normal[T](rng, tokens, heads*d, 0, 1.4), densetest.Normal[T](rng, tokens, keyHeads*d, 0, 1.4), densetest.Normal[T](rng, tokens, keyHeads*d, 0, 1)
	dst := dense.New[T](1, heads*d)
	s = must.Have(must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, form)).NewState(d, d))
	for s.Len() < past {
		s.Append(k.RowRange(0, min(tokens, past-s.Len())), v.RowRange(0, min(tokens, past-s.Len())))
	}
	mark := s.Snapshot(nil)
	s.Append(k, v)
	s.Rollback(mark) // there is room
	i := 0
	return func() {
		s.Step(dst, q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
		if i++; i == tokens {
			s.Rollback(mark)
			i = 0
		}
	}, s
}
