package decoder

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
)

const sizes = `"vocab_size": 8, "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 4`

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig([]byte(`{"model_type": "llama", ` + sizes + `, "rope_scaling": null}`))
	require.NoError(t, err)
	assert.Equal(t, Config{Vocabulary: 8, Layers: 1, Width: 8, Heads: 2, KeyHeads: 2, HeadDim: 4, Inner: 4}, c, "not tied, as Llama's default is")
	for text, want := range map[string]TokenIDs{"2": {2}, "[1, 2]": {1, 2}, "null": nil} {
		c, err := ParseConfig([]byte(`{"model_type": "llama", ` + sizes + `, "eos_token_id": ` + text + `}`))
		require.NoError(t, err)
		assert.Equal(t, want, c.End)
	}
}

func TestParseConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                       "config.json",
		`{"model_type": "bert"}`:  `model_type is "bert"`,
		`{"model_type": "llama"}`: "the vocabulary is 0",
		`{"eos_token_id": "a"}`:   "config.json",
		`{"model_type": "llama", ` + sizes + `, "hidden_act": "gelu"}`:                `hidden_act is "gelu"`,
		`{"model_type": "llama", ` + sizes + `, "rope_scaling": {"type": "dynamic"}}`: "rope_scaling is map[type:dynamic], want none",
		`{"model_type": "llama", ` + sizes + `, "num_key_value_heads": 3}`:            "2 heads for 3 heads of keys",
		`{"model_type": "llama", ` + sizes + `, "rms_norm_eps": -1}`:                  "epsilon of norms is -1",
	} {
		_, err := ParseConfig([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}

func TestModelErrors(t *testing.T) {
	m := waved(t)
	odd := m.Config
	odd.HeadDim = 3
	_, err := Read(wave(), odd, exact(t, odd), "")
	assert.ErrorContains(t, err, "the width of heads is 3, want an even number")
	assert.PanicsWithValue(t, "layer: Row(11) into 12 elements of a Linear of 11×12", func() { m.Forward([]int{1, 11}, []int{2}) })
	assert.Panics(t, func() { m.Read([]int{1}, []int{2}) })
	s, err := m.NewState()
	require.NoError(t, err)
	assert.PanicsWithValue(t, "layer: Row(-1) into 12 elements of a Linear of 11×12", func() { s.Step([]int{-1}) })
	near, err := blocks.New[float32](blocks.Options{Softmax: performer.Softmax{Causal: true}})
	require.NoError(t, err)
	stateless, err := performer.NewBatch(performer.BatchOptions{Heads: m.Heads, KeyHeads: m.KeyHeads}, near)
	require.NoError(t, err)
	m.Use(1, stateless)
	_, err = m.NewState()
	assert.ErrorContains(t, err, "decoder: layer 1: ")
}
