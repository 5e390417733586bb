package lm

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/safetensors"
)

// BenchmarkSmolLM2 has the time of a prompt of 1024 tokens with the logits of its last token, and
// of each token after it. RANDFEAT_SMOLLM2 is the folder that smollm2.py writes.
func BenchmarkSmolLM2(b *testing.B) {
	dir := os.Getenv("RANDFEAT_SMOLLM2")
	if dir == "" {
		b.Skip("RANDFEAT_SMOLLM2 is not set")
	}
	for _, weights := range []safetensors.DType{safetensors.F32, safetensors.BF16} {
		m, err := Open(dir, weights)
		require.NoError(b, err)
		rng, prompt := rand.New(rand.NewPCG(1, 1)), make([]int, 1024)
		for i := range prompt {
			prompt[i] = rng.IntN(m.Vocabulary)
		}
		b.Run("of=prompt/weights="+string(weights), func(b *testing.B) {
			for b.Loop() {
				s, err := m.NewState()
				require.NoError(b, err)
				x := s.Read(prompt)
				m.Logits(x.RowRange(x.Rows-1, x.Rows))
			}
		})
		b.Run("of=read/weights="+string(weights), func(b *testing.B) {
			for b.Loop() {
				m.Read(prompt, []int{1024})
			}
		})
		s, err := m.NewState()
		require.NoError(b, err)
		s.Read(prompt)
		b.Run("of=token/weights="+string(weights), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				s.Step(prompt[i%len(prompt):][:1])
			}
		})
	}
}
