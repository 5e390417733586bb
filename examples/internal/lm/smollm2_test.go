package lm_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// TestSmolLM2 compares tokens, losses and logits of SmolLM2 with those of testdata/logits.py, in a
// pass over the text, and token by token. PyTorch and this module round sums of 576 and 1536 terms
// in other orders, in 30 layers. Logits up to 30 then differ by up to 1e-4; a wrong angle, norm or
// token changes them by more than 0.1.
func TestSmolLM2(t *testing.T) {
	folder := os.Getenv("RANDFEAT_SMOLLM2")
	if folder == "" {
		t.Skip("RANDFEAT_SMOLLM2 names no folder, which examples/transformer/smollm2.py writes")
	}
	data, err := os.ReadFile("testdata/smollm2.json")
	require.NoError(t, err)
	var want struct {
		Text            string
		Tokens, Columns []int
		Losses          []float64
		Logits          [][]float64
	}
	require.NoError(t, json.Unmarshal(data, &want))
	m, err := lm.Open(folder, "")
	require.NoError(t, err)
	require.Equal(t, want.Tokens, m.Tokenizer.Encode(nil, want.Text))
	assert.Equal(t, decoder.TokenIDs{2}, m.End)

	n := len(want.Tokens) - 1
	losses := m.Losses(m.Read(want.Tokens[:n], []int{n}), want.Tokens[1:])
	assert.InDeltaSlice(t, want.Losses, losses, 5e-4)

	check := func(m *lm.Model, tolerance float64) (worst float64) {
		all := m.Forward(want.Tokens, []int{n + 1})
		s, err := m.NewState()
		require.NoError(t, err)
		for i, row := range want.Logits {
			step := s.Step(want.Tokens[i : i+1])
			for j, c := range want.Columns {
				require.InDelta(t, row[j], float64(all.At(i, c)), tolerance, "token %d, logit %d", i, c)
				require.InDelta(t, row[j], float64(step.At(0, c)), tolerance, "step of token %d, logit %d", i, c)
				worst = max(worst, math.Abs(row[j]-float64(all.At(i, c))), math.Abs(row[j]-float64(step.At(0, c))))
			}
		}
		return worst
	}
	t.Logf("largest difference of a logit: %.2g", check(m, 5e-4))
	half, err := lm.Open(folder, safetensors.F16)
	require.NoError(t, err)
	t.Logf("with weights in 16 bits: %.2g", check(half, 0.1))
}
