package decoder

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

const sizes = `"vocab_size": 8, "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 4`

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig([]byte(`{"model_type": "llama", ` + sizes + `, "rope_scaling": null}`))
	require.NoError(t, err)
	assert.Equal(t, Config{Vocabulary: 8, Layers: 1, Width: 8, Heads: 2, KeyHeads: 2, HeadDim: 4, Inner: 4}, c, "not tied, as Llama's default is")
}

func TestParseConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                       "config.json",
		`{"model_type": "bert"}`:  `model_type is "bert"`,
		`{"model_type": "llama"}`: "the vocabulary is 0",
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
	_, err := New(tiny, func(int) (Attention[float64], error) { return nil, errors.New("no heads") }, exprand.NewSource(1))
	assert.ErrorContains(t, err, "no heads")
	odd := tiny
	odd.HeadDim = 3
	_, err = New(odd, exact[float64](odd), exprand.NewSource(1))
	assert.ErrorContains(t, err, "turn 3 of 3 coordinates")

	m := waved[float64](t)
	assert.PanicsWithValue(t, "dense: row 11 outside a 11×12 matrix", func() { m.Forward([]int{1, 11}, []int{2}) })
	assert.Panics(t, func() { m.Losses(Batch{Tokens: []int{1}, Next: []int{2}, Lengths: []int{2}}) })
	s, err := m.NewState()
	require.NoError(t, err)
	assert.PanicsWithValue(t, "dense: row -1 outside a 11×12 matrix", func() { s.Step([]int{-1}) })
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
