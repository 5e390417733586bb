package decoder

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
)

// BenchmarkGradients takes a step of 4096 tokens with the model that examples/transformer/train
// trains.
func BenchmarkGradients(b *testing.B) {
	c := Config{
		Vocabulary: 2048, Layers: 4, Width: 256, Heads: 4, KeyHeads: 4, HeadDim: 64, Inner: 688, Epsilon: 1e-5, Base: 10000, Tied: true,
	}
	const tokens = 4096
	for _, length := range []int{512, 2048} {
		b.Run(fmt.Sprintf("context=%d", length), func(b *testing.B) {
			m, err := New(c, exact[float32](c), exprand.NewSource(1))
			require.NoError(b, err)
			text := make([]uint16, tokens+1)
			for i := range text {
				text[i] = uint16(i * i % c.Vocabulary)
			}
			var batch Batch
			for at := 0; at < tokens; at += length {
				batch.Append(text, at, length)
			}
			a := NewAdamW(m.Parameters())
			for b.Loop() {
				m.Gradients(batch)
				a.Step(1e-3)
			}
			b.ReportMetric(float64(b.N)*tokens/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
