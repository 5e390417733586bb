package layer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// BenchmarkMultiHeadStep times a step of a layer of 10.5 million weights, for one and for eight
// streams with weights of 32 and of 16 bits, and gonum's Gemv on the same weights. Bytes are those
// of the weights.
func BenchmarkMultiHeadStep(b *testing.B) {
	const width, heads, keyHeads = 2048, 16, 4
	const weights = width * (2*width + 2*width*keyHeads/heads)
	p := must.Have(layer.Draw[float32](layer.Widths{Input: width, Heads: heads, KeyHeads: keyHeads}, densetest.Source(291)))
	exact := batch(heads, keyHeads, must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})))
	for _, dtype := range []safetensors.DType{safetensors.F32, safetensors.F16, safetensors.BF16} {
		l := must.Have(layer.New(p, exact, layer.Options{Weights: dtype}))
		for _, streams := range []int{1, 8} {
			b.Run(fmt.Sprintf("weights=%s/streams=%d", dtype, streams), func(b *testing.B) {
				x, dst := densetest.Normal[float32](rand.New(densetest.Source(292)), streams, width, 0, 1), dense.New[float32](streams, width)
				var states []*performer.State[float32]
				var marks []*performer.Snapshot[float32]
				for range streams {
					states = append(states, must.Have(l.NewState()))
				}
				l.StepAll(dst, x, states)
				for _, s := range states {
					marks = append(marks, s.Snapshot(nil))
				}
				b.SetBytes(weights * map[safetensors.DType]int64{"F32": 4, "F16": 2, "BF16": 2}[dtype])
				b.ReportAllocs()
				for b.Loop() {
					l.StepAll(dst, x, states)
					for i, s := range states {
						s.Rollback(marks[i])
					}
				}
			})
		}
	}
	b.Run("by=gonum", func(b *testing.B) {
		x, dst := densetest.Normal[float32](rand.New(densetest.Source(292)), 1, width, 0, 1), dense.New[float32](1, width)
		b.SetBytes(weights * 4)
		for b.Loop() {
			for _, m := range []dense.Matrix[float32]{p.Query, p.Key, p.Value, p.Output} {
				gonum.Implementation{}.Sgemv('N', m.Rows, m.Cols, 1, m.Data, m.Stride, x.Data, 1, 0, dst.Data, 1)
			}
		}
	})
}
