package decoder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// config is config.json of the model of testdata/logits.py.
const config = `{"model_type": "llama", "vocab_size": 11, "num_hidden_layers": 2, "hidden_size": 12, "num_attention_heads": 4,
	"num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 10, "rope_theta": 500, "rms_norm_eps": 1e-5,
	"hidden_act": "silu", "tie_word_embeddings": false, "torch_dtype": "float64"}`

// wave returns a file with the tensors of a model, with the elements of testdata/logits.py in
// float64.
func wave[T dense.Float](m *Model[T]) *safetensors.File {
	f := &safetensors.File{Tensors: make(map[string]safetensors.Tensor)}
	slots := m.slots()
	for n, name := range slices.Sorted(maps.Keys(slots)) {
		t := safetensors.Tensor{DType: safetensors.F64, Shape: shape(name, slots[name])}
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

// waved returns a model of config, read from the file that wave makes.
func waved[T dense.Float](t *testing.T) *Model[T] {
	t.Helper()
	c, err := ParseConfig([]byte(config))
	require.NoError(t, err)
	random, err := New(c, exact[T](c), exprand.NewSource(9))
	require.NoError(t, err)
	m, err := Read(wave(random), c, exact[T](c))
	require.NoError(t, err)
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
	testLogits[float64](t, want.Tokens, want.Logits, 1e-12)
	testLogits[float32](t, want.Tokens, want.Logits, 1e-5)
}

func testLogits[T dense.Float](t *testing.T, tokens []int, want [][]float64, tolerance float64) {
	m := waved[T](t)
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

// TestWrite: a file that was written is read again, to 2⁻¹¹.
func TestWrite(t *testing.T) {
	m := waved[float32](t)
	var b bytes.Buffer
	require.NoError(t, m.Write(&b))
	f, err := safetensors.Read(&b)
	require.NoError(t, err)
	again, err := Read(f, m.Config, exact[float32](m.Config))
	require.NoError(t, err)
	for n, p := range m.Parameters() {
		for i, v := range p.Value.Data {
			tolerance := max(0x1p-11*math.Abs(float64(v)), 0x1p-25)
			require.InDelta(t, v, again.Parameters()[n].Value.Data[i], tolerance)
		}
	}
}

func TestConfigIsWritten(t *testing.T) {
	want := waved[float32](t).Config
	text, err := want.JSON()
	require.NoError(t, err)
	got, err := ParseConfig(text)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestReadErrors(t *testing.T) {
	m := waved[float64](t)
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
		f := wave(m)
		c.change(f)
		_, err := Read(f, m.Config, exact[float64](m.Config))
		assert.ErrorContains(t, err, c.want, name)
	}
	f := wave(m)
	f.Tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = f.Tensors["model.norm.weight"]
	_, err := Read(f, m.Config, exact[float64](m.Config))
	assert.NoError(t, err, "angles are no parameters")
}
