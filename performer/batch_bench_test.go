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

// BenchmarkBatch times 8 heads of d = dv = 64 and m = 256 positive features, float32,
// over 8, 2 and 1 heads of keys, and what a mask costs that leaves out every eighth key.
// Sequences have 512 tokens and there are 4. Names read
//
//	BenchmarkBatch/form=linear/keyheads=2/mask=false
func BenchmarkBatch(b *testing.B) {
	const heads, d, n = 8, 64, 2048
	rng := rand.New(densetest.Source(290))
	q, dst := densetest.Normal[float32](rng, n, heads*d, 0, 0.35), dense.New[float32](n, heads*d)
	valid := make([]bool, n)
	for i := range valid {
		valid[i] = i%8 != 5
	}
	for _, f := range []struct {
		name string
		form performer.Attention[float32]
	}{
		{"linear", attention(maptest.Positive[float32](256, d), performer.LinearOptions{})},
		{"causal", attention(maptest.Positive[float32](256, d), performer.LinearOptions{Causal: true})},
		{"exact", must.Have(performer.NewExact[float32](performer.ExactOptions{}))},
	} {
		for _, keyHeads := range []int{8, 2, 1} {
			k, v := densetest.Normal[float32](rng, n, keyHeads*d, 0, 0.35), densetest.Normal[float32](rng, n, keyHeads*d, 0, 1)
			batch := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, f.form))
			for _, masked := range []bool{false, true} {
				b.Run(fmt.Sprintf("form=%s/keyheads=%d/mask=%v", f.name, keyHeads, masked), func(b *testing.B) {
					s := performer.Sequences{Queries: []int{512, 512, 512, 512}}
					if masked {
						s.Valid = valid
					}
					for range 3 {
						batch.ForwardSequences(dst, q, k, v, s) // scratch of every processor
					}
					b.ReportAllocs()
					for b.Loop() {
						batch.ForwardSequences(dst, q, k, v, s)
					}
					b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
				})
			}
		}
	}
}
