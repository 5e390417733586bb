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

// BenchmarkDecode times one step of a decoder, a token of eight heads of d = dv = 64 after so
// many tokens: linear attention with m = 256 positive features, and exact attention with as
// many heads of keys and with two. Names read
//
//	BenchmarkDecode/type=float32/form=exact/heads=8/keyHeads=2/past=1000
//
// Keys and values of exact attention, past·(d+dv) numbers a head of keys, are read once a step.
// States in codes have names of their own, beside that of elements:
//
//	BenchmarkDecode/form=exact/bits=8/type=float32/heads=8/keyHeads=2/d=128/L=8192
func BenchmarkDecode(b *testing.B) {
	b.Run("type=float32", benchmarkDecode[float32])
	b.Run("type=float64", benchmarkDecode[float64])
	for _, bits := range []int{32, 16, 8, 4} {
		for _, c := range []struct{ keyHeads, d, past int }{{8, 64, 16384}, {2, 128, 8192}} {
			b.Run(fmt.Sprintf("form=exact/bits=%d/type=float32/heads=8/keyHeads=%d/d=%d/L=%d", bits, c.keyHeads, c.d, c.past), func(b *testing.B) {
				benchmarkBits(b, bits%32, c.keyHeads, c.d, c.past)
			})
		}
	}
}

// benchmarkBits times a step of exact attention in so many bits, or 0 for elements, after so many
// tokens.
func benchmarkBits(b *testing.B, bits, keyHeads, d, past int) {
	const heads, tokens = 8, 512
	rng := rand.New(densetest.Source(72))
	q := densetest.Normal[float32](rng, tokens, heads*d, 0, 1)
	k, v := q.ColRange(0, keyHeads*d).Clone(), densetest.Normal[float32](rng, tokens, keyHeads*d, 0, 1)
	dst := dense.New[float32](1, heads*d)
	s := must.Have(must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: bits})))).NewState(d, d))
	for s.Len() < past {
		s.Append(k, v)
	}
	mark := s.Snapshot(nil)
	s.Append(k, v)
	s.Rollback(mark) // there is room
	b.SetBytes(int64(len(must.Have(s.MarshalBinary()))))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.Append(k.RowRange(i, i+1), v.RowRange(i, i+1))
		s.Attend(dst, q.RowRange(i, i+1))
		if i++; i == tokens {
			s.Rollback(mark)
			i = 0
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

func benchmarkDecode[T dense.Float](b *testing.B) {
	const d, heads, tokens = 64, 8, 1000
	rng := rand.New(densetest.Source(71))
	q, k := densetest.Normal[T](rng, tokens, heads*d, 0, 0.35), densetest.Normal[T](rng, tokens, heads*d, 0, 0.35)
	v, dst := densetest.Normal[T](rng, tokens, heads*d, 0, 1), dense.New[T](1, heads*d)
	linear := attention(maptest.Positive[T](256, d), performer.LinearOptions{Causal: true})
	for _, c := range []struct {
		name     string
		form     performer.Attention[T]
		keyHeads int
		past     []int
	}{
		{"linear", linear, heads, []int{1000, 1000000}},
		{"exact", must.Have(performer.NewExact[T](performer.ExactOptions{})), heads, []int{1000, 10000}},
		{"exact", must.Have(performer.NewExact[T](performer.ExactOptions{})), 2, []int{1000, 10000}},
	} {
		k, v := k.ColRange(0, c.keyHeads*d), v.ColRange(0, c.keyHeads*d)
		for _, past := range c.past {
			b.Run(fmt.Sprintf("form=%s/heads=%d/keyHeads=%d/past=%d", c.name, heads, c.keyHeads, past), func(b *testing.B) {
				s := must.Have(must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: c.keyHeads}, c.form)).NewState(d, d))
				for s.Len() < past {
					s.Append(k, v)
				}
				mark := s.Snapshot(nil)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					s.Step(dst, q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
					if i++; i == tokens {
						s.Rollback(mark) // so that exact attention has about as many keys throughout
						i = 0
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}
