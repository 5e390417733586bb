package clusters_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// BenchmarkAttention times one head with d = dv = 64, beside exact attention.
func BenchmarkAttention(b *testing.B) {
	for _, causal := range []bool{false, true} {
		for _, n := range []int{4096, 16384} {
			exact := must.Have(performer.NewExact[float32](performer.ExactOptions{Causal: causal}))
			q, k, v := tokens[float32](n, 64, 64, 8, 11)
			for name, f := range map[string]performer.Attention[float32]{"exact": exact, "clusters": form(b, exact, clusters.Options{})} {
				b.Run(fmt.Sprintf("form=%s/type=float32/causal=%v/L=%d", name, causal, n), func(b *testing.B) {
					b.ReportAllocs()
					dst := dense.New[float32](n, 64)
					for b.Loop() {
						f.Forward(dst, q, k, v)
					}
				})
			}
		}
	}
}

// BenchmarkDecode times a step of a decoder after L tokens, one head with d = dv = 64, beside exact
// attention. The error is that of the outputs of the steps.
func BenchmarkDecode(b *testing.B) {
	const n, steps = 65536 - 300, 200
	exact := must.Have(performer.NewExact[float32](performer.ExactOptions{}))
	q, k, v := text(n+steps, 64, 64)
	truth := state[float32](b, exact, 1, 1, 64, 64)
	truth.Append(k.RowRange(0, n), v.RowRange(0, n))
	want := dense.New[float32](steps, 64)
	for i := range steps {
		truth.Step(want.RowRange(i, i+1), q.RowRange(n+i, n+i+1), k.RowRange(n+i, n+i+1), v.RowRange(n+i, n+i+1))
	}
	for _, c := range []struct {
		name string
		form performer.Attention[float32]
	}{{"exact", exact}, {"clusters", form(b, exact, clusters.Options{Threshold: 0.0007})}} {
		b.Run(fmt.Sprintf("form=%s/type=float32/L=65536", c.name), func(b *testing.B) {
			s := state(b, c.form, 1, 1, 64, 64)
			s.Append(k.RowRange(0, n), v.RowRange(0, n))
			mark, got, i := s.Snapshot(nil), dense.New[float32](steps, 64), 0
			b.ReportAllocs()
			for b.Loop() {
				s.Step(got.RowRange(i, i+1), q.RowRange(n+i, n+i+1), k.RowRange(n+i, n+i+1), v.RowRange(n+i, n+i+1))
				if i++; i == steps {
					s.Rollback(mark)
					i = 0
				}
			}
			if b.N >= steps {
				b.ReportMetric(relative(got, want), "error")
			}
		})
	}
}

// text returns tokens whose words are as frequent as those of a text, and differ by their places: a
// word is a point of norm 8, and the spread about it decays from one coordinate to the next.
func text(n, d, dv int) (q, k, v dense.Matrix[float32]) {
	rng := rand.New(rand.NewPCG(12, 0))
	words, meanings := dense.New[float32](2000, d), dense.New[float32](2000, dv)
	for i := range words.Data {
		words.Data[i] = float32(8 / math.Sqrt(float64(d)) * rng.NormFloat64())
	}
	for i := range meanings.Data {
		meanings.Data[i] = float32(rng.NormFloat64())
	}
	word := func() int { return int(math.Exp(rng.Float64()*math.Log(2000))) - 1 } // i with a probability of about 1/i
	q, k, v = dense.New[float32](n, d), dense.New[float32](n, d), dense.New[float32](n, dv)
	for i := range n {
		asked, said := word(), word()
		for j := range d {
			spread := 2 / math.Sqrt(float64(1+j))
			k.Row(i)[j] = words.Row(said)[j] + float32(spread*rng.NormFloat64())
			q.Row(i)[j] = words.Row(asked)[j] + float32(spread*rng.NormFloat64())
		}
		for j := range dv {
			v.Row(i)[j] = meanings.Row(said)[j] + float32(0.5*rng.NormFloat64())
		}
	}
	return q, k, v
}
