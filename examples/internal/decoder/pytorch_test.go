package decoder

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// config is config.json of the model of testdata/logits.py.
const config = `{"model_type": "llama", "vocab_size": 11, "num_hidden_layers": 2, "hidden_size": 12, "num_attention_heads": 4,
	"num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 10, "rope_theta": 500, "rms_norm_eps": 1e-5,
	"hidden_act": "silu", "tie_word_embeddings": false, "torch_dtype": "float64"}`

// shapes are the shapes of the tensors of config.
var shapes = map[string][]int{
	"model.embed_tokens.weight": {11, 12}, "lm_head.weight": {11, 12}, "model.norm.weight": {12},
}

func init() {
	for i := range 2 {
		for name, shape := range map[string][]int{
			"self_attn.q_proj": {24, 12}, "self_attn.k_proj": {12, 12}, "self_attn.v_proj": {12, 12}, "self_attn.o_proj": {12, 24},
			"mlp.gate_proj": {10, 12}, "mlp.up_proj": {10, 12}, "mlp.down_proj": {12, 10},
			"input_layernorm": {12}, "post_attention_layernorm": {12},
		} {
			shapes[fmt.Sprintf("model.layers.%d.%s.weight", i, name)] = shape
		}
	}
}

// wave returns a file with the tensors of config, with the elements of testdata/logits.py in
// float64.
func wave() *safetensors.File {
	f := &safetensors.File{Tensors: make(map[string]safetensors.Tensor)}
	for n, name := range slices.Sorted(maps.Keys(shapes)) {
		t := safetensors.Tensor{DType: safetensors.F64, Shape: shapes[name]}
		count := 1
		for _, s := range t.Shape {
			count *= s
		}
		for k := range count {
			v := math.Sin(1.3*float64(k) + float64(n))
			if len(t.Shape) == 2 {
				v *= 0.3
			} else {
				v = 1 + 0.3*v
			}
			t.Data = binary.LittleEndian.AppendUint64(t.Data, math.Float64bits(v))
		}
		f.Tensors[name] = t
	}
	return f
}

// exact returns exact causal attention for the heads of a model.
func exact(t *testing.T, c Config) performer.Batch[float32] {
	t.Helper()
	one, err := performer.NewExact[float32](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})
	require.NoError(t, err)
	heads, err := performer.NewBatch[float32](performer.BatchOptions{Heads: c.Heads, KeyHeads: c.KeyHeads}, one)
	require.NoError(t, err)
	return heads
}

// waved returns the model of config with the tensors of wave.
func waved(t *testing.T) *Model {
	t.Helper()
	c, err := ParseConfig([]byte(config))
	require.NoError(t, err)
	m, err := Read(wave(), c, exact(t, c), "")
	require.NoError(t, err)
	size := 0
	for _, shape := range shapes {
		size += shape[0] * append(shape, 1)[1]
	}
	assert.Equal(t, size, m.Size())
	return m
}

// TestPyTorch compares logits of a whole model with those of testdata/logits.py.
func TestPyTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/logits.json")
	require.NoError(t, err)
	var want struct {
		Tokens []int
		Logits [][]float64
	}
	require.NoError(t, json.Unmarshal(data, &want))
	testLogits(t, want.Tokens, want.Logits)
}

func testLogits(t *testing.T, tokens []int, want [][]float64) {
	const tolerance = 1e-5
	m := waved(t)
	// A second sequence changes nothing in the first.
	got := m.Forward(append(slices.Clone(tokens), 2, 5), []int{len(tokens), 2})
	largest := 0.0
	for i, row := range want {
		for j, v := range row {
			require.InDelta(t, v, float64(got.At(i, j)), tolerance, "token %d, logit %d", i, j)
			largest = max(largest, math.Abs(v))
		}
	}
	assert.Greater(t, largest, 0.5)

	s, err := m.NewState()
	require.NoError(t, err)
	var states []*State
	for range 3 {
		state, err := m.NewState()
		require.NoError(t, err)
		states = append(states, state)
	}
	for i, token := range tokens {
		together := m.StepAll(states, []int{token, 2, token})
		require.Equal(t, together.Row(0), together.Row(2))
		for j, v := range want[i] {
			require.InDelta(t, v, float64(together.At(0, j)), tolerance, "step of 3 texts, token %d, logit %d", i, j)
		}
	}
	for from := 0; from < len(tokens); from += 3 {
		to := min(from+3, len(tokens))
		got := s.Step(tokens[from:to])
		for i := from; i < to; i++ {
			for j, v := range want[i] {
				require.InDelta(t, v, float64(got.At(i-from, j)), tolerance, "step, token %d, logit %d", i, j)
			}
		}
	}
}

// TestDivergences: divergences are those of the definition, of more tokens than are computed at a
// time.
func TestDivergences(t *testing.T) {
	m := waved(t)
	tokens := make([]int, rows+3)
	for i := range tokens {
		tokens[i] = i * i % 11
	}
	x := m.Read(tokens, []int{len(tokens)})
	y := m.Read(tokens, slices.Repeat([]int{1}, len(tokens)))
	log := func(x dense.Matrix[float32], i int) []float64 {
		p, sum := make([]float64, 11), 0.0
		for j, logit := range m.Logits(x).Row(i) {
			p[j] = float64(logit)
			sum += math.Exp(p[j])
		}
		for j := range p {
			p[j] -= math.Log(sum)
		}
		return p
	}
	got := m.Divergences(x, y)
	require.Len(t, got, len(tokens))
	for _, i := range []int{0, 5, rows - 1, rows, rows + 2} {
		want := 0.0
		for j, p := range log(x, i) {
			want += math.Exp(p) * (p - log(y, i)[j])
		}
		assert.InDelta(t, want, got[i], 1e-6)
		assert.Equal(t, i > 0, want > 1e-4, "the first token of a sequence is alone in both")
	}
}

func TestReadErrors(t *testing.T) {
	m := waved(t)
	for name, c := range map[string]struct {
		change func(f *safetensors.File)
		want   string
	}{
		"missing": {func(f *safetensors.File) { delete(f.Tensors, "model.norm.weight") }, `"model.norm.weight" is missing`},
		"unknown": {func(f *safetensors.File) {
			f.Tensors["model.layers.0.mlp.up_proj.bias"] = f.Tensors["model.norm.weight"]
		}, `"model.layers.0.mlp.up_proj.bias" is not one of the model`},
		"unknown of attention": {func(f *safetensors.File) {
			f.Tensors["model.layers.0.self_attn.other"] = f.Tensors["model.norm.weight"]
		}, `"model.layers.0.self_attn.other"`},
		"shape of attention": {func(f *safetensors.File) {
			f.Tensors["model.layers.1.self_attn.o_proj.weight"] = safetensors.Tensor{DType: safetensors.F64, Shape: []int{11, 24}, Data: make([]byte, 8*11*24)}
		}, `"model.layers.1.self_attn.o_proj.weight": the shape is [11 24], want [12 24]`},
		"shape": {func(f *safetensors.File) {
			f.Tensors["lm_head.weight"] = f.Tensors["model.norm.weight"]
		}, `"lm_head.weight": the shape is [12], want [11 12]`},
		"type": {func(f *safetensors.File) {
			x := f.Tensors["model.norm.weight"]
			f.Tensors["model.norm.weight"] = safetensors.Tensor{DType: safetensors.I8, Shape: x.Shape, Data: x.Data[:12]}
		}, `"model.norm.weight": the type is I8, want F64, F32, F16 or BF16`},
	} {
		f := wave()
		c.change(f)
		_, err := Read(f, m.Config, exact(t, m.Config), "")
		assert.ErrorContains(t, err, c.want, name)
	}
	f := wave()
	f.Tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = f.Tensors["model.norm.weight"]
	_, err := Read(f, m.Config, exact(t, m.Config), "")
	assert.NoError(t, err, "angles are no parameters")
}
