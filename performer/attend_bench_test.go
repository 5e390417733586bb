package performer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// BenchmarkAttend times one head of d = dv = 64 with what AttendArgs may add to it.
func BenchmarkAttend(b *testing.B) {
	b.Run("type=float32", benchmarkAttend[float32])
	b.Run("type=float64", benchmarkAttend[float64])
}

func benchmarkAttend[T dense.Float](b *testing.B) {
	const l, d, window = 2048, 64, 128
	rng := rand.New(rand.NewPCG(1, 7))
	plain := performer.AttendArgs[T]{
		Q: normalTensor[T](rng, 1, 1, l, d, false), K: normalTensor[T](rng, 1, 1, l, d, false), V: normalTensor[T](rng, 1, 1, l, d, false),
		Out: dense.NewTensor[T](1, 1, l, d),
	}
	biased, masked, windowed := plain, plain, plain
	biased.Bias = normalTensor[T](rng, 1, 1, l, l, false)
	masked.Mask, windowed.Mask = dense.NewTensor[bool](1, 1, l, l), dense.NewTensor[bool](1, 1, l, l)
	for i := range l {
		for j := range l {
			masked.Mask.Row(0, 0, i)[j] = rng.IntN(8) > 0
			windowed.Mask.Row(0, 0, i)[j] = j > i-window && j < i+window
		}
	}
	for _, c := range []struct {
		name string
		form performer.Exact[T]
		call performer.AttendArgs[T]
	}{
		{"nothing", must.Have(performer.NewExact[T](performer.ExactOptions{})), plain},
		{"softcap", must.Have(performer.NewExact[T](performer.ExactOptions{Softcap: 30})), plain},
		{"bias", must.Have(performer.NewExact[T](performer.ExactOptions{})), biased},
		{"mask", must.Have(performer.NewExact[T](performer.ExactOptions{})), masked},
		{"window", must.Have(performer.NewExact[T](performer.ExactOptions{})), windowed},
	} {
		b.Run(fmt.Sprintf("with=%s/L=%d", c.name, l), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := performer.Attend(c.form, c.call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
