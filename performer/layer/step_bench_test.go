package layer_test

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// BenchmarkMultiHeadStep times a step of a layer with 41.9 MB of weights, float32, and gonum's Gemv
// on the same weights.
func BenchmarkMultiHeadStep(b *testing.B) {
	const width, heads, keyHeads = 2048, 16, 4
	p := must.Have(layer.Draw[float32](layer.Widths{Input: width, Heads: heads, KeyHeads: keyHeads}, densetest.Source(291)))
	l := must.Have(layer.New(p, batch(heads, keyHeads, must.Have(performer.NewExact[float32](performer.ExactOptions{Causal: true}))), layer.Options{}))
	x, dst := densetest.Normal[float32](rand.New(densetest.Source(292)), 1, width, 0, 1), dense.New[float32](1, width)
	w := l.Projections()
	const bytes = 4 * width * (2*width + 2*width*keyHeads/heads)
	b.Run("by=randfeat", func(b *testing.B) {
		s := must.Have(l.NewState())
		l.Step(dst, x, s)
		mark := s.Snapshot(nil)
		b.SetBytes(bytes)
		b.ReportAllocs()
		for b.Loop() {
			l.Step(dst, x, s)
			s.Rollback(mark)
		}
	})
	b.Run("by=gonum", func(b *testing.B) {
		b.SetBytes(bytes)
		for b.Loop() {
			for _, m := range []dense.Matrix[float32]{w.Query, w.Key, w.Value, w.Output} {
				gonum.Implementation{}.Sgemv('N', m.Rows, m.Cols, 1, m.Data, m.Stride, x.Data, 1, 0, dst.Data, 1)
			}
		}
	})
}
