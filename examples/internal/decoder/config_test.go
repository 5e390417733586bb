package decoder

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

const sizes = `"vocab_size": 8, "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 4`

func TestParseConfig(t *testing.T) {
	for scaling, want := range map[string]layer.RotaryScaling{
		`null`:                            nil,
		`{"rope_type": "default"}`:        nil,
		`{"type": "linear", "factor": 2}`: layer.RotaryLinear{Factor: 2},
		`{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64, "beta_fast": 16, "beta_slow": 2}`: layer.RotaryYaRN{
			Factor: 4, Context: 64, Fast: 16, Slow: 2,
		},
		`{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192}`: layer.RotaryLlama3{
			Factor: 8, LowFrequency: 1, HighFrequency: 4, Context: 8192,
		},
	} {
		c, err := ParseConfig([]byte(`{"model_type": "llama", ` + sizes + `, "rope_scaling": ` + scaling + `}`))
		require.NoError(t, err)
		assert.Equal(t, want, c.Scaling)
		assert.True(t, c.Untied, "as Llama's default is")
		assert.Equal(t, 2, c.KeyHeads)
		assert.Equal(t, 4, c.HeadDim)
	}
	c, err := ParseConfig([]byte(configs["gpt2"]))
	require.NoError(t, err)
	assert.Equal(t, Config{
		Vocabulary: 11, Layers: 2, Width: 12, Heads: 3, KeyHeads: 3, HeadDim: 4, Inner: 48, Context: 9, Epsilon: 1e-5, GPT2: true,
	}, c)
}

func TestParseConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                   "config.json",
		`{"model_type": "bert"}`:              `model_type is "bert"`,
		`{"model_type": "llama"}`:             "the vocabulary is 0",
		`{"model_type": "gpt2", "n_embd": 8}`: "the vocabulary is 0",
		`{"model_type": "llama", ` + sizes + `, "hidden_act": "gelu"}`:                                      `hidden_act is "gelu"`,
		`{"model_type": "llama", ` + sizes + `, "rope_scaling": {"type": "dynamic"}}`:                       `rope_type is "dynamic"`,
		`{"model_type": "llama", ` + sizes + `, "num_key_value_heads": 3}`:                                  "2 heads for 3 heads of keys",
		`{"model_type": "llama", ` + sizes + `, "rms_norm_eps": -1}`:                                        "epsilon of norms is -1",
		`{"model_type": "gpt2", "vocab_size": 8, "n_layer": 1, "n_embd": 8, "n_head": 2}`:                   "0 learnt positions",
		`{"model_type": "gpt2", "vocab_size": 8, "n_layer": 1, "n_embd": 8, "n_head": 3, "n_positions": 4}`: "3 heads of 2 columns and width 8",
		`{"model_type": "gpt2", "activation_function": "relu"}`:                                             `activation_function is "relu"`,
	} {
		_, err := ParseConfig([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}

func TestModelErrors(t *testing.T) {
	_, err := New(tiny, func(int) (Attention[float64], error) { return nil, errors.New("no heads") }, exprand.NewSource(1))
	assert.ErrorContains(t, err, "no heads")
	odd := tiny
	odd.HeadDim = 3
	_, err = New(odd, exact[float64](odd), exprand.NewSource(1))
	assert.ErrorContains(t, err, "turn 3 of 3 coordinates")

	m := waved[float64](t, "gpt2", "")
	_, err = m.Forward([]int{1, 11}, []int{2})
	assert.ErrorContains(t, err, "token 1 is 11, want one of 11")
	_, err = m.Gradients(Batch{Tokens: make([]int, 10), Next: make([]int, 10), Lengths: []int{10}})
	assert.ErrorContains(t, err, "token 9 is at position 9, and there are 9")
	_, err = m.Losses(Batch{Tokens: []int{1}, Next: []int{2}, Lengths: []int{2}})
	assert.ErrorContains(t, err, "1 tokens for sequences of 2 together")
	s, err := m.NewState()
	require.NoError(t, err)
	_, err = s.Step([]int{-1})
	assert.ErrorContains(t, err, "token 0 is -1")
	m.Use(1, stateless{})
	_, err = m.NewState()
	assert.ErrorContains(t, err, "layer 1: the attention decoder.stateless has no state")
}

// stateless is attention that needs all tokens.
type stateless struct{}

func (stateless) ForwardSequences(dst, _, _, _ dense.Matrix[float64], _ performer.Sequences) dense.Matrix[float64] {
	return dst
}

func (stateless) BackwardSequences(dq, dk, dv, _, _, _, _ dense.Matrix[float64], _ performer.Sequences) (_, _, _ dense.Matrix[float64]) {
	return dq, dk, dv
}
