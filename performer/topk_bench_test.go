package performer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// BenchmarkTopK times a step of eight heads of d = dv = 64 that reads 256 keys of a head, beside
// steps that read all keys, after so many tokens. Names read
//
//	BenchmarkTopK/TopK=256/bits=4/L=16384
//
// with 32 bits for elements. The scores have the standard deviation 2. Longer streams need
// gigabytes, so that they are left out of short runs.
func BenchmarkTopK(b *testing.B) {
	const heads, d, tokens = 8, 64, 4096
	rng := rand.New(densetest.Source(73))
	q, k := densetest.Normal[float32](rng, 64, heads*d, 0, 1.4), densetest.Normal[float32](rng, tokens, heads*d, 0, 1.4)
	v, dst := densetest.Normal[float32](rng, tokens, heads*d, 0, 1), dense.New[float32](1, heads*d)
	for _, past := range []int{4096, 16384, 131072} {
		if past > 16384 && testing.Short() {
			continue
		}
		for _, bits := range []int{32, 4} {
			for _, topK := range []int{256, 0} {
				b.Run(fmt.Sprintf("TopK=%d/bits=%d/L=%d", topK, bits, past), func(b *testing.B) {
					o := performer.ExactOptions{Bits: bits % 32, TopK: topK}
					s := must.Have(must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: heads}, must.Have(performer.NewExact[float32](o)))).NewState(d, d))
					for s.Len() < past {
						s.Append(k, v)
					}
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						s.Attend(dst, q.RowRange(i%64, i%64+1))
						i++
					}
				})
			}
		}
	}
}
