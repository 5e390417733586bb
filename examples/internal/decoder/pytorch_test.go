package decoder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// configs are config.json of the models of testdata/logits.py.
var configs = map[string]string{
	"llama": `{"model_type": "llama", "vocab_size": 11, "num_hidden_layers": 2, "hidden_size": 12, "num_attention_heads": 4,
		"num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 10, "rope_theta": 500, "rms_norm_eps": 1e-5,
		"hidden_act": "silu", "tie_word_embeddings": false, "torch_dtype": "float64"}`,
	"gpt2": `{"model_type": "gpt2", "vocab_size": 11, "n_layer": 2, "n_embd": 12, "n_head": 3, "n_positions": 9,
		"layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}`,
}

// wave returns a file with the tensors of a model, with the elements of testdata/logits.py in
// float64.
func wave[T dense.Float](m *Model[T], prefix string) *safetensors.File {
	f := &safetensors.File{Tensors: make(map[string]safetensors.Tensor)}
	slots := m.slots()
	for n, name := range slices.Sorted(maps.Keys(slots)) {
		t := safetensors.Tensor{DType: safetensors.F64, Shape: slots[name].shape()}
		count := 1
		for _, s := range t.Shape {
			count *= s
		}
		for k := range count {
			v := math.Sin(1.3*float64(k) + float64(n))
			switch {
			case len(t.Shape) == 2:
				v *= 0.3
			case strings.HasSuffix(name, ".bias"):
				v *= 0.1
			default:
				v = 1 + 0.3*v
			}
			t.Data = binary.LittleEndian.AppendUint64(t.Data, math.Float64bits(v))
		}
		f.Tensors[prefix+name] = t
	}
	return f
}

// waved returns a model of configs, read from the file that wave makes.
func waved[T dense.Float](t *testing.T, kind, prefix string) *Model[T] {
	t.Helper()
	c, err := ParseConfig([]byte(configs[kind]))
	require.NoError(t, err)
	random, err := New(c, exact[T](c), exprand.NewSource(9))
	require.NoError(t, err)
	m, err := Read(wave(random, prefix), c, exact[T](c))
	require.NoError(t, err)
	return m
}

// TestPyTorch compares logits of whole models with those of testdata/logits.py.
func TestPyTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/logits.json")
	require.NoError(t, err)
	var want struct {
		Tokens      []int
		Llama, GPT2 [][]float64
	}
	require.NoError(t, json.Unmarshal(data, &want))
	for kind, logits := range map[string][][]float64{"llama": want.Llama, "gpt2": want.GPT2} {
		testLogits[float64](t, kind, want.Tokens, logits, 1e-12)
		testLogits[float32](t, kind, want.Tokens, logits, 1e-5)
	}
}

func testLogits[T dense.Float](t *testing.T, kind string, tokens []int, want [][]float64, tolerance float64) {
	for _, prefix := range map[string][]string{"llama": {""}, "gpt2": {"", "transformer."}}[kind] {
		m := waved[T](t, kind, prefix)
		// A second sequence changes nothing in the first.
		got, err := m.Forward(append(slices.Clone(tokens), 2, 5), []int{len(tokens), 2})
		require.NoError(t, err)
		largest := 0.0
		for i, row := range want {
			for j, v := range row {
				require.InDelta(t, v, float64(got.At(i, j)), tolerance, "%s, token %d, logit %d", kind, i, j)
				largest = max(largest, math.Abs(v))
			}
		}
		assert.Greater(t, largest, 0.5)

		s, err := m.NewState()
		require.NoError(t, err)
		for from := 0; from < len(tokens); from += 3 {
			to := min(from+3, len(tokens))
			got, err := s.Step(tokens[from:to])
			require.NoError(t, err)
			for i := from; i < to; i++ {
				for j, v := range want[i] {
					require.InDelta(t, v, float64(got.At(i-from, j)), tolerance, "%s, step, token %d, logit %d", kind, i, j)
				}
			}
		}
	}
}

// TestWrite: a file that was written is read again, exactly as float32 and to 2⁻¹¹ in half.
func TestWrite(t *testing.T) {
	m := waved[float32](t, "llama", "")
	for _, inHalf := range []bool{false, true} {
		var b bytes.Buffer
		require.NoError(t, m.Write(&b, map[string]string{"from": "a test"}, inHalf))
		f, err := safetensors.Read(&b)
		require.NoError(t, err)
		assert.Equal(t, "a test", f.Metadata["from"])
		again, err := Read(f, m.Config, exact[float32](m.Config))
		require.NoError(t, err)
		for n, p := range m.Parameters() {
			for i, v := range p.Value.Data {
				tolerance := 0.0
				if inHalf {
					tolerance = max(0x1p-11*math.Abs(float64(v)), 0x1p-25)
				}
				require.InDelta(t, v, again.Parameters()[n].Value.Data[i], tolerance)
			}
		}
	}
	assert.ErrorContains(t, waved[float32](t, "gpt2", "").Write(new(bytes.Buffer), nil, false), "only models of Llama are written")
}

func TestConfigIsWritten(t *testing.T) {
	want := waved[float32](t, "llama", "").Config
	text, err := want.JSON()
	require.NoError(t, err)
	got, err := ParseConfig(text)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestReadErrors(t *testing.T) {
	m := waved[float64](t, "llama", "")
	for name, c := range map[string]struct {
		change func(f *safetensors.File)
		want   string
	}{
		"missing": {func(f *safetensors.File) { delete(f.Tensors, "model.norm.weight") }, `"model.norm.weight" is missing`},
		"unknown": {func(f *safetensors.File) {
			f.Tensors["model.layers.0.self_attn.q_proj.bias"] = f.Tensors["model.norm.weight"]
		}, `"model.layers.0.self_attn.q_proj.bias" is not one of the model`},
		"shape": {func(f *safetensors.File) {
			f.Tensors["lm_head.weight"] = f.Tensors["model.norm.weight"]
		}, `"lm_head.weight": the shape is [12], want [11 12]`},
		"type": {func(f *safetensors.File) {
			x := f.Tensors["model.norm.weight"]
			f.Tensors["model.norm.weight"] = safetensors.Tensor{DType: safetensors.I8, Shape: x.Shape, Data: x.Data[:12]}
		}, `"model.norm.weight": the type is I8, want F64, F32, F16 or BF16`},
	} {
		f := wave(m, "")
		c.change(f)
		_, err := Read(f, m.Config, exact[float64](m.Config))
		assert.ErrorContains(t, err, c.want, name)
	}
	f := wave(m, "")
	f.Tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = f.Tensors["model.norm.weight"]
	_, err := Read(f, m.Config, exact[float64](m.Config))
	assert.NoError(t, err, "angles are no parameters")

	g := wave(waved[float64](t, "gpt2", ""), "")
	g.Tensors["transformer.ln_f.bias"] = g.Tensors["ln_f.bias"]
	two := waved[float64](t, "gpt2", "")
	assert.ErrorContains(t, two.Load(g), `"ln_f.bias" is there twice`)
}
