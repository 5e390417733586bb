package clusters_test

import (
	"fmt"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// BenchmarkAttention times one head with d = dv = 64, beside exact attention.
func BenchmarkAttention(b *testing.B) {
	for _, n := range []int{4096, 16384} {
		exact := must.Have(performer.NewExact[float32](performer.ExactOptions{}))
		q, k, v := tokens[float32](n, 64, 64, 8, 11)
		for name, f := range map[string]performer.Attention[float32]{"exact": exact, "clusters": form(b, exact, clusters.Options{})} {
			b.Run(fmt.Sprintf("form=%s/type=float32/L=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				dst := dense.New[float32](n, 64)
				for b.Loop() {
					f.Forward(dst, q, k, v)
				}
			})
		}
	}
}
