package layer_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/densetest"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// A layer that was written and read has the same outputs, bit for bit.
func TestMultiHeadFile(t *testing.T) {
	densetest.Both(t, testMultiHeadFile[float32], testMultiHeadFile[float64])
}

func testMultiHeadFile[T dense.Float](t *testing.T) {
	const prefix = "layer.0.self_attn."
	for _, c := range []struct {
		widths layer.Widths
		names  []string
	}{
		{layer.Widths{Input: 8, Heads: 4, Bias: true}, []string{"in_proj_bias", "in_proj_weight", "out_proj.bias", "out_proj.weight"}},
		{layer.Widths{Input: 8, Heads: 4, KeyHeads: 2}, []string{"in_proj_weight", "out_proj.weight"}},
		{layer.Widths{Input: 8, Keys: 3, Values: 5, Heads: 4, Bias: true}, []string{"in_proj_bias", "k_proj_weight", "out_proj.bias", "out_proj.weight", "q_proj_weight", "v_proj_weight"}},
		{layer.Widths{Input: 8, Heads: 4, KeyHeads: 1, HeadValues: 3, Output: 7}, []string{"k_proj_weight", "out_proj.weight", "q_proj_weight", "v_proj_weight"}},
		{layer.Widths{Input: 8, Heads: 2, NoOutput: true, Bias: true}, []string{"W_key.bias", "W_key.weight", "W_query.bias", "W_query.weight", "W_value.bias", "W_value.weight"}},
		{layer.Widths{Input: 8, Heads: 2, NoOutput: true}, []string{"W_key.weight", "W_query.weight", "W_value.weight"}},
	} {
		p := must(layer.Draw[T](c.widths, source(250)))
		rng := rand.New(source(251))
		for _, b := range [][]T{p.QueryBias, p.KeyBias, p.ValueBias, p.OutputBias} {
			for i := range b {
				b[i] = T(rng.NormFloat64())
			}
		}
		keyHeads := max(c.widths.KeyHeads, 1)
		if c.widths.KeyHeads == 0 {
			keyHeads = c.widths.Heads
		}
		l := must(layer.New(p, exactBatch[T](c.widths.Heads, keyHeads)))
		var file bytes.Buffer
		require.NoError(t, l.Write(&file, prefix))
		content := must(safetensors.Read(bytes.NewReader(file.Bytes())))
		names := map[string]bool{}
		for _, name := range c.names {
			names[prefix+name] = true
		}
		for name := range content.Tensors {
			assert.True(t, names[name], name)
		}
		assert.Len(t, content.Tensors, len(names))

		got, err := layer.Read(content, prefix, exactBatch[T](c.widths.Heads, keyHeads))
		require.NoError(t, err)
		assert.Equal(t, l.Projections(), got.Projections(), "%+v", c.widths)
	}
}

// The state dict of PyTorch, beside the tensors of another layer.
func TestReadMultiHeadOfPyTorch(t *testing.T) {
	p := goldenProjections[float64]()
	file := &safetensors.File{Tensors: map[string]safetensors.Tensor{
		"a.in_proj_weight":  tensor([]int{12, 4}, sines[float64](12, 4, 2).Data),
		"a.in_proj_bias":    tensor([]int{12}, sines[float64](1, 12, 1).Data),
		"a.out_proj.weight": tensor([]int{4, 4}, p.Output.Data),
		"a.out_proj.bias":   tensor([]int{4}, p.OutputBias),
		"b.in_proj_weight":  tensor([]int{1}, []float64{1}),
		"norm.weight":       tensor([]int{1}, []float64{1}),
	}}
	l, err := layer.Read(file, "a.", exactBatch[float64](2, 2))
	require.NoError(t, err)
	want := must(layer.New(p, exactBatch[float64](2, 2)))
	assert.Equal(t, want.Projections(), l.Projections())

	var again bytes.Buffer
	require.NoError(t, l.Write(&again, "a."))
	whole := &safetensors.File{Tensors: maps.Clone(file.Tensors)}
	delete(file.Tensors, "b.in_proj_weight")
	delete(file.Tensors, "norm.weight")
	var only bytes.Buffer
	require.NoError(t, safetensors.Write(&only, file))
	assert.Equal(t, only.Bytes(), again.Bytes(), "what is read is written")

	single, err := layer.Read(whole, "a.", exactBatch[float32](2, 2))
	require.NoError(t, err)
	assert.Equal(t, goldenProjections[float32]().Key.Clone(), single.Projections().Key, "rounded to float32")
}

// Models of Hugging Face have a member for each projection, and biases for some of them. A function
// gives other names. One file serves all layers.
func TestReadModels(t *testing.T) {
	p := goldenProjections[float64]()
	zeros := make([]float64, 4)
	with := func(output string, biases ...string) *safetensors.File {
		f := &safetensors.File{Tensors: map[string]safetensors.Tensor{
			"q_proj.weight":    tensor([]int{4, 4}, p.Query.Clone().Data),
			"k_proj.weight":    tensor([]int{4, 4}, p.Key.Clone().Data),
			"v_proj.weight":    tensor([]int{4, 4}, p.Value.Clone().Data),
			output + ".weight": tensor([]int{4, 4}, p.Output.Data),
		}}
		values := map[string][]float64{"q_proj": p.QueryBias, "k_proj": p.KeyBias, "v_proj": p.ValueBias, output: p.OutputBias}
		for _, name := range biases {
			f.Tensors[name+".bias"] = tensor([]int{4}, values[name])
		}
		return f
	}
	whisper, llama := p, p
	whisper.KeyBias = zeros
	llama.QueryBias, llama.KeyBias, llama.ValueBias, llama.OutputBias = nil, nil, nil, nil
	for _, c := range []struct {
		name string
		file *safetensors.File
		want layer.Projections[float64]
	}{
		{"opt", with("out_proj", "q_proj", "k_proj", "v_proj", "out_proj"), p},
		{"whisper", with("out_proj", "q_proj", "v_proj", "out_proj"), whisper},
		{"llama", with("o_proj"), llama},
	} {
		got, err := layer.Read(c.file, "", exactBatch[float64](2, 2))
		require.NoError(t, err, c.name)
		assert.Equal(t, must(layer.New(c.want, exactBatch[float64](2, 2))).Projections(), got.Projections(), c.name)
	}

	bert := map[string]string{
		"q_proj_weight": "self.query.weight", "k_proj_weight": "self.key.weight", "v_proj_weight": "self.value.weight",
		"q_proj_bias": "self.query.bias", "k_proj_bias": "", "v_proj_bias": "self.value.bias",
		"out_proj.weight": "output.dense.weight", "out_proj.bias": "output.dense.bias",
	}
	file := &safetensors.File{Tensors: map[string]safetensors.Tensor{
		"self.query.weight": tensor([]int{4, 4}, p.Query.Clone().Data), "self.query.bias": tensor([]int{4}, p.QueryBias),
		"self.key.weight":   tensor([]int{4, 4}, p.Key.Clone().Data),
		"self.value.weight": tensor([]int{4, 4}, p.Value.Clone().Data), "self.value.bias": tensor([]int{4}, p.ValueBias),
		"output.dense.weight": tensor([]int{4, 4}, p.Output.Data), "output.dense.bias": tensor([]int{4}, p.OutputBias),
		"output.LayerNorm.weight": tensor([]int{4}, zeros),
	}}
	named := func(parameter string) string { return bert[parameter] }
	for _, read := range []struct {
		without []string
		want    layer.Projections[float64]
	}{
		{nil, whisper},
		{[]string{"q_proj_bias", "v_proj_bias", "out_proj.bias"}, llama},
	} {
		for _, parameter := range read.without {
			bert[parameter] = ""
		}
		got, err := layer.ReadNamed(file, named, exactBatch[float64](2, 2))
		require.NoError(t, err)
		assert.Equal(t, must(layer.New(read.want, exactBatch[float64](2, 2))).Projections(), got.Projections())
	}
	bert["out_proj.weight"] = ""
	got, err := layer.ReadNamed(file, named, exactBatch[float64](2, 2))
	require.NoError(t, err)
	assert.Zero(t, got.Projections().Output.Rows)
	bert["v_proj_bias"] = "self.vale.bias"
	_, err = layer.ReadNamed(file, named, exactBatch[float64](2, 2))
	assert.EqualError(t, err, `layer: tensor "self.vale.bias" is missing`)
	bert["k_proj_weight"] = ""
	_, err = layer.ReadNamed(file, named, exactBatch[float64](2, 2))
	assert.EqualError(t, err, "layer: name gives none for k_proj_weight, want the name of a tensor")
	_, err = layer.ReadNamed[float64](nil, named, exactBatch[float64](2, 2))
	assert.EqualError(t, err, "layer: f is nil")
}

func tensor(shape []int, x []float64) safetensors.Tensor {
	return must(safetensors.FromFloats(shape, x))
}

func TestReadMultiHeadErrors(t *testing.T) {
	zeros := func(shape ...int) safetensors.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return tensor(shape, make([]float64, n))
	}
	type contents = map[string]safetensors.Tensor
	good := func() contents {
		return contents{"in_proj_weight": zeros(12, 4), "in_proj_bias": zeros(12), "out_proj.weight": zeros(4, 4), "out_proj.bias": zeros(4)}
	}
	separate := func() contents {
		return contents{"q_proj_weight": zeros(4, 4), "k_proj_weight": zeros(4, 3), "v_proj_weight": zeros(6, 5), "out_proj.weight": zeros(4, 6)}
	}
	model := func() contents {
		return contents{"q_proj.weight": zeros(4, 4), "k_proj.weight": zeros(4, 4), "v_proj.weight": zeros(4, 4), "o_proj.weight": zeros(4, 4)}
	}
	bare := func() contents {
		return contents{"W_query.weight": zeros(4, 4), "W_key.weight": zeros(4, 4), "W_value.weight": zeros(2, 4)}
	}
	for want, c := range map[string]struct {
		from func() contents
		name string
		to   any // a tensor, or nil for none
	}{
		`tensor "x.in_proj_weight" is missing, or "x.q_proj_weight", or "x.q_proj.weight"`:          {good, "in_proj_weight", nil},
		`tensor "x.out_proj.weight" is missing`:                                                     {good, "out_proj.weight", nil},
		`tensor "x.bias_k" is none of this layer`:                                                   {good, "bias_k", zeros(1, 1, 4)},
		`tensor "x.q_proj_weight" is none of this layer`:                                            {good, "q_proj_weight", zeros(4, 4)},
		`tensor "x.in_proj_weight" has shape [11 4], want a multiple of 6 rows, for 2 and 2 heads`:  {good, "in_proj_weight", zeros(11, 4)},
		`tensor "x.in_proj_weight" has shape [48], want a matrix that is not empty`:                 {good, "in_proj_weight", zeros(48)},
		`tensor "x.in_proj_weight" has shape [0 4], want a matrix that is not empty`:                {good, "in_proj_weight", zeros(0, 4)},
		`tensor "x.in_proj_bias" has shape [11], want [12]`:                                         {good, "in_proj_bias", zeros(11)},
		`tensor "x.out_proj.weight" has shape [4 3], want 4 columns, for 2 heads of the values`:     {good, "out_proj.weight", zeros(4, 3)},
		`tensor "x.out_proj.bias" has shape [4 1], want [4]`:                                        {good, "out_proj.bias", zeros(4, 1)},
		`tensor "x.out_proj.bias": safetensors: dtype I64, want F64, F32, F16 or BF16`:              {good, "out_proj.bias", safetensors.Tensor{DType: safetensors.I64, Shape: []int{4}, Data: make([]byte, 32)}},
		`tensor "x.v_proj_weight" is missing`:                                                       {separate, "v_proj_weight", nil},
		`tensor "x.q_proj_weight" is missing`:                                                       {separate, "q_proj_weight", nil},
		`tensor "x.k_proj_weight" is 2×3, want 4 rows, for 2 heads like those of "x.q_proj_weight"`: {separate, "k_proj_weight", zeros(2, 3)},
		`tensor "x.v_proj_weight" has shape [5 5], want a multiple of 2 rows, for 2 and 2 heads`:    {separate, "v_proj_weight", zeros(5, 5)},
		`tensor "x.W_key.weight" is missing`:                                                        {bare, "W_key.weight", nil},
		`tensor "x.W_query.bias" is missing`:                                                        {bare, "W_value.bias", zeros(2)},
		`tensor "x.k_proj.weight" is missing`:                                                       {model, "k_proj.weight", nil},
		`tensor "x.o_proj.weight" is missing`:                                                       {model, "o_proj.weight", nil},
		`tensor "x.v_proj.bias" has shape [3], want [4]`:                                            {model, "v_proj.bias", zeros(3)},
		`tensor "x.q_norm.weight" is none of this layer`:                                            {model, "q_norm.weight", zeros(2)},
		`tensor "x.out_proj.weight" is none of this layer`:                                          {bare, "out_proj.weight", zeros(4, 4)},
	} {
		all := contents{}
		for name, tensor := range c.from() {
			all["x."+name] = tensor
		}
		delete(all, "x."+c.name)
		if tensor, ok := c.to.(safetensors.Tensor); ok {
			all["x."+c.name] = tensor
		}
		_, err := layer.Read(&safetensors.File{Tensors: all}, "x.", exactBatch[float32](2, 2))
		assert.EqualError(t, err, "layer: "+want)
	}
	_, err := layer.Read(nil, "", exactBatch[float32](2, 2))
	assert.EqualError(t, err, "layer: f is nil")
	_, err = layer.Read[float32](&safetensors.File{}, "", nil)
	assert.EqualError(t, err, "layer: attention is nil")

	l := must(layer.NewLinearSelfAttention[float32](2, 2, true, source(1)))
	assert.ErrorContains(t, l.Write(io.Discard, "\xff"), "want valid UTF-8")
	assert.ErrorIs(t, l.Write(brokenWriter{}, ""), errBroken)
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
