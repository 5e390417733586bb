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
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// A layer that was written and read has the same outputs, bit for bit.
//
//ci:portable
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
		p := must.Have(layer.Draw[T](c.widths, densetest.Source(250)))
		rng := rand.New(densetest.Source(251))
		for _, b := range [][]T{p.QueryBias, p.KeyBias, p.ValueBias, p.OutputBias} {
			for i := range b {
				b[i] = T(rng.NormFloat64())
			}
		}
		keyHeads := max(c.widths.KeyHeads, 1)
		if c.widths.KeyHeads == 0 {
			keyHeads = c.widths.Heads
		}
		l := must.Have(layer.New(p, exactBatch[T](c.widths.Heads, keyHeads), layer.Options{}))
		var file bytes.Buffer
		require.NoError(t, l.Write(&file, prefix))
		content := must.Have(safetensors.Read(bytes.NewReader(file.Bytes())))
		names := map[string]bool{}
		for _, name := range c.names {
			names[prefix+name] = true
		}
		for name := range content.Tensors {
			assert.True(t, names[name], name)
		}
		assert.Len(t, content.Tensors, len(names))

		got, err := layer.Read(content, prefix, exactBatch[T](c.widths.Heads, keyHeads), layer.Options{})
		require.NoError(t, err)
		assert.Equal(t, l.Projections(), got.Projections(), "%+v", c.widths)
	}
}

// Gains of norms are tensors of their own, beside weights of any names, and are written as they
// were read.
//
//ci:portable
func TestMultiHeadNormFile(t *testing.T) {
	densetest.Both(t, testMultiHeadNormFile[float32], testMultiHeadNormFile[float64])
}

func testMultiHeadNormFile[T dense.Float](t *testing.T) {
	attention, opts := exactBatch[T](4, 2), layer.Options{Rotary: &layer.RotaryOptions{}, Epsilon: 1e-5}
	x := sines[T](5, 8, 0.3)
	for _, name := range sortedBetween {
		for _, w := range []layer.Widths{
			{Input: 8, Heads: 4, KeyHeads: 2, HeadDim: 4, Bias: true},
			{Input: 8, Heads: 4, KeyHeads: 2, HeadDim: 4, HeadValues: 3},
			{Input: 8, Heads: 4, KeyHeads: 2, HeadDim: 4, NoOutput: true},
		} {
			l := must.Have(layer.New(drawnBetween[T](name, w, 270), attention, opts))
			var file bytes.Buffer
			require.NoError(t, l.Write(&file, "a."))
			got, err := layer.Read(must.Have(safetensors.Read(&file)), "a.", attention, opts)
			require.NoError(t, err)
			assert.Equal(t, l.Projections(), got.Projections(), "%s, %+v", name, w)
			assert.Equal(t, l.Forward(dense.Matrix[T]{}, x, performer.Sequences{}), got.Forward(dense.Matrix[T]{}, x, performer.Sequences{}))
		}
	}

	// Names of Qwen3, Gemma 3 and OLMo 2, and a function that gives other names.
	p := drawnBetween[T]("row norms", layer.Widths{Input: 8, Heads: 4, KeyHeads: 2, HeadDim: 4}, 271)
	want := must.Have(layer.New(p, attention, opts)).Projections()
	file := &safetensors.File{Tensors: map[string]safetensors.Tensor{}}
	names := map[string]string{
		"q_proj_weight": "q_proj.weight", "k_proj_weight": "k_proj.weight", "v_proj_weight": "v_proj.weight", "out_proj.weight": "o_proj.weight",
		"q_norm.weight": "q_norm.weight", "k_norm.weight": "k_norm.weight",
	}
	for _, m := range p.Parameters() {
		shape := []int{m.Value.Rows, m.Value.Cols}
		if m.Value.Rows == 1 {
			shape = shape[1:]
		}
		file.Tensors["model.layers.0.self_attn."+names[m.Name]] = must.Have(safetensors.FromFloats(shape, m.Value.Data))
	}
	assert.Equal(t, want, must.Have(layer.Read(file, "model.layers.0.self_attn.", attention, opts)).Projections())
	named := func(parameter string) string {
		if name := names[parameter]; name != "" {
			return "model.layers.0.self_attn." + name
		}
		return ""
	}
	assert.Equal(t, want, must.Have(layer.ReadNamed(file, named, attention, opts)).Projections())
	names["k_norm.weight"] = ""
	want.KeyNorm = nil
	assert.Equal(t, want, must.Have(layer.ReadNamed(file, named, attention, opts)).Projections())
	names["k_norm.weight"] = "k_nrom.weight"
	_, err := layer.ReadNamed(file, named, attention, opts)
	assert.EqualError(t, err, `layer: tensor "model.layers.0.self_attn.k_nrom.weight" is missing`)
	_, err = layer.Read(file, "model.layers.0.self_attn.", attention, layer.Options{Epsilon: -1})
	assert.EqualError(t, err, "layer: Options.Epsilon = -1, want a finite number above 0")
}

// The state dict of PyTorch, beside the tensors of another layer.
//
//ci:portable
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
	l, err := layer.Read(file, "a.", exactBatch[float64](2, 2), layer.Options{})
	require.NoError(t, err)
	want := must.Have(layer.New(p, exactBatch[float64](2, 2), layer.Options{}))
	assert.Equal(t, want.Projections(), l.Projections())

	var again bytes.Buffer
	require.NoError(t, l.Write(&again, "a."))
	whole := &safetensors.File{Tensors: maps.Clone(file.Tensors)}
	delete(file.Tensors, "b.in_proj_weight")
	delete(file.Tensors, "norm.weight")
	var only bytes.Buffer
	require.NoError(t, safetensors.Write(&only, file))
	assert.Equal(t, only.Bytes(), again.Bytes(), "what is read is written")

	single, err := layer.Read(whole, "a.", exactBatch[float32](2, 2), layer.Options{})
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
		got, err := layer.Read(c.file, "", exactBatch[float64](2, 2), layer.Options{})
		require.NoError(t, err, c.name)
		assert.Equal(t, must.Have(layer.New(c.want, exactBatch[float64](2, 2), layer.Options{})).Projections(), got.Projections(), c.name)
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
		got, err := layer.ReadNamed(file, named, exactBatch[float64](2, 2), layer.Options{})
		require.NoError(t, err)
		assert.Equal(t, must.Have(layer.New(read.want, exactBatch[float64](2, 2), layer.Options{})).Projections(), got.Projections())
	}
	bert["out_proj.weight"] = ""
	got, err := layer.ReadNamed(file, named, exactBatch[float64](2, 2), layer.Options{})
	require.NoError(t, err)
	assert.Zero(t, got.Projections().Output.Rows)
	bert["v_proj_bias"] = "self.vale.bias"
	_, err = layer.ReadNamed(file, named, exactBatch[float64](2, 2), layer.Options{})
	assert.EqualError(t, err, `layer: tensor "self.vale.bias" is missing`)
	bert["k_proj_weight"] = ""
	_, err = layer.ReadNamed(file, named, exactBatch[float64](2, 2), layer.Options{})
	assert.EqualError(t, err, "layer: name gives none for k_proj_weight, want the name of a tensor")
	_, err = layer.ReadNamed[float64](nil, named, exactBatch[float64](2, 2), layer.Options{})
	assert.EqualError(t, err, "layer: f is nil")
}

// gpt2 has the tensors of an attention of GPT-2, weights and biases filled with sines, among them
// the masks of older files.
func gpt2() *safetensors.File {
	return &safetensors.File{Tensors: map[string]safetensors.Tensor{
		"h.0.attn.c_attn.weight": tensor([]int{4, 12}, sines[float64](4, 12, 2).Data),
		"h.0.attn.c_attn.bias":   tensor([]int{12}, sines[float64](1, 12, 1).Data),
		"h.0.attn.c_proj.weight": tensor([]int{4, 4}, sines[float64](4, 4, 4).Data),
		"h.0.attn.c_proj.bias":   tensor([]int{4}, sines[float64](1, 4, 3).Data),
		"h.0.attn.bias":          tensor([]int{1, 1, 3, 3}, []float64{1, 0, 0, 1, 1, 0, 1, 1, 1}),
		"h.0.attn.masked_bias":   tensor(nil, []float64{-1e4}),
		"h.0.ln_1.weight":        tensor([]int{4}, make([]float64, 4)),
	}}
}

// gpt2Names are the names of that attention.
func gpt2Names(parameter string) string {
	return map[string]string{
		"q_proj_weight": "h.0.attn.c_attn.weight", "k_proj_weight": "h.0.attn.c_attn.weight", "v_proj_weight": "h.0.attn.c_attn.weight",
		"q_proj_bias": "h.0.attn.c_attn.bias", "k_proj_bias": "h.0.attn.c_attn.bias", "v_proj_bias": "h.0.attn.c_attn.bias",
		"out_proj.weight": "h.0.attn.c_proj.weight", "out_proj.bias": "h.0.attn.c_proj.bias",
	}[parameter]
}

// Outputs of the attention of GPT-2 in PyTorch 1.13 and float64, for two sequences of three rows:
// c_attn and c_proj are modules with the forward of Conv1D, addmm(bias, x, weight), and heads are
// split, masked and merged as GPT2Attention does it.
func TestReadGPT2(t *testing.T) { densetest.Both(t, testReadGPT2[float32], testReadGPT2[float64]) }

func testReadGPT2[T dense.Float](t *testing.T) {
	want := []float64{
		0.04464743110818402, -0.24648492744339368, -0.4216915731851111, -0.3985700829452812,
		0.04502960254380855, -0.25402210552818133, -0.433603248165379, -0.4092540079527535,
		0.04612965741362788, -0.24591485443080768, -0.4223017677108388, -0.4000735609893201,
		0.04205900790722575, -0.2751282138114473, -0.4629183375776691, -0.4329907338825601,
		0.04649296880624282, -0.24884050883275138, -0.4271404069274959, -0.4045494973912737,
		0.04419069378139859, -0.2584123354703015, -0.4394800055461952, -0.41385336194920075,
	}
	x, s := sines[T](6, 4, 0.25), performer.Sequences{Queries: []int{3, 3}}
	attention := batch[T](2, 2, must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})))
	byPrefix := must.Have(layer.Read(gpt2(), "h.0.attn.", attention, layer.Options{}))
	requireGolden(t, want, byPrefix.Forward(dense.Matrix[T]{}, x, s), "Read")
	byName := must.Have(layer.ReadNamed(gpt2(), gpt2Names, attention, layer.Options{}))
	assert.Equal(t, byPrefix.Projections(), byName.Projections())

	// With nn.Linear in place of Conv1D weights are transposed and names the same.
	linear := gpt2()
	for name, shape := range map[string][2]int{"h.0.attn.c_attn.weight": {4, 12}, "h.0.attn.c_proj.weight": {4, 4}} {
		w := dense.Transpose(dense.Matrix[float64]{}, dense.Of(shape[0], shape[1], must.Have(safetensors.Floats[float64](linear.Tensors[name]))))
		linear.Tensors[name] = tensor([]int{w.Rows, w.Cols}, w.Data)
	}
	assert.Equal(t, byPrefix.Projections(), must.Have(layer.Read(linear, "h.0.attn.", attention, layer.Options{})).Projections())
	assert.Equal(t, byPrefix.Projections(), must.Have(layer.ReadNamed(linear, gpt2Names, attention, layer.Options{})).Projections())

	// Heads that share keys: 4 columns for queries, 2 for keys, 2 for values.
	shared := &safetensors.File{Tensors: map[string]safetensors.Tensor{
		"c_attn.weight": tensor([]int{4, 8}, sines[float64](4, 8, 2).Data),
		"c_proj.weight": tensor([]int{4, 4}, sines[float64](4, 4, 4).Data),
	}}
	l := must.Have(layer.Read(shared, "", batch[T](2, 1, must.Have(performer.NewExact[T](performer.ExactOptions{}))), layer.Options{}))
	all := dense.Transpose(dense.Matrix[T]{}, sines[T](4, 8, 2))
	assert.Equal(t, all.RowRange(4, 6).Clone(), l.Projections().Key)
	assert.Equal(t, all.RowRange(6, 8).Clone(), l.Projections().Value)
}

// What is of neither layout is an error.
func TestReadGPT2Errors(t *testing.T) {
	for want, c := range map[string]struct {
		name  string
		shape []int
	}{
		`"h.0.attn.c_attn.weight" is 4×11, want E×N or N×E where N = E·6/2, for 2 and 2 heads`: {"c_attn.weight", []int{4, 11}},
		`"h.0.attn.c_attn.weight" is 4×4, want E×N or N×E where N = E·6/2, for 2 and 2 heads`:  {"c_attn.weight", []int{4, 4}},
		`"h.0.attn.c_attn.weight" is 3×9, want E×N or N×E where N = E·6/2, for 2 and 2 heads`:  {"c_attn.weight", []int{3, 9}},
		`"h.0.attn.c_attn.bias" has shape [4], want [12]`:                                      {"c_attn.bias", []int{4}},
		`"h.0.attn.c_proj.weight" has shape [5 4], want 4 rows, for 2 heads of the values`:     {"c_proj.weight", []int{5, 4}},
		`"h.0.attn.c_proj.bias" has shape [5], want [4]`:                                       {"c_proj.bias", []int{5}},
		`"h.0.attn.c_proj.weight" has shape [2 2 4], want a matrix that is not empty`:          {"c_proj.weight", []int{2, 2, 4}},
	} {
		f, n := gpt2(), 1
		for _, side := range c.shape {
			n *= side
		}
		f.Tensors["h.0.attn."+c.name] = tensor(c.shape, make([]float64, n))
		_, err := layer.Read(f, "h.0.attn.", exactBatch[float64](2, 2), layer.Options{})
		assert.EqualError(t, err, "layer: tensor "+want)
		_, err = layer.ReadNamed(f, gpt2Names, exactBatch[float64](2, 2), layer.Options{})
		assert.EqualError(t, err, "layer: tensor "+want)
	}
	_, err := layer.ReadNamed(gpt2(), nil, exactBatch[float64](2, 2), layer.Options{})
	assert.EqualError(t, err, "layer: name is nil")
}

func tensor(shape []int, x []float64) safetensors.Tensor {
	return must.Have(safetensors.FromFloats(shape, x))
}

//ci:portable
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
		`tensor "x.in_proj_weight" is missing, or "x.q_proj_weight", or "x.q_proj.weight", or "x.c_attn.weight"`: {good, "in_proj_weight", nil},
		`tensor "x.out_proj.weight" is missing`:                                                     {good, "out_proj.weight", nil},
		`tensor "x.bias_k" is none of this layer`:                                                   {good, "bias_k", zeros(1, 1, 4)},
		`tensor "x.q_proj_weight" is none of this layer`:                                            {good, "q_proj_weight", zeros(4, 4)},
		`tensor "x.in_proj_weight" has shape [11 4], want a multiple of 6 rows, for 2 and 2 heads`:  {good, "in_proj_weight", zeros(11, 4)},
		`tensor "x.in_proj_weight" has shape [48], want a matrix that is not empty`:                 {good, "in_proj_weight", zeros(48)},
		`tensor "x.in_proj_weight" has shape [0 4], want a matrix that is not empty`:                {good, "in_proj_weight", zeros(0, 4)},
		`tensor "x.in_proj_bias" has shape [11], want [12]`:                                         {good, "in_proj_bias", zeros(11)},
		`tensor "x.out_proj.weight" has shape [4 3], want 4 columns, for 2 heads of the values`:     {good, "out_proj.weight", zeros(4, 3)},
		`tensor "x.out_proj.bias" has shape [4 1], want [4]`:                                        {good, "out_proj.bias", zeros(4, 1)},
		`tensor "x.in_proj_weight": dtype F8_E4M3, want F64, F32, F16 or BF16`:                      {good, "in_proj_weight", safetensors.Tensor{DType: safetensors.F8E4M3, Shape: []int{12, 4}, Data: make([]byte, 48)}},
		`tensor "x.out_proj.bias": dtype I64, want F64, F32, F16 or BF16`:                           {good, "out_proj.bias", safetensors.Tensor{DType: safetensors.I64, Shape: []int{4}, Data: make([]byte, 32)}},
		`tensor "x.v_proj_weight" is missing`:                                                       {separate, "v_proj_weight", nil},
		`tensor "x.q_proj_weight" is missing`:                                                       {separate, "q_proj_weight", nil},
		`tensor "x.k_proj_weight" is 2×3, want 4 rows, for 2 heads like those of "x.q_proj_weight"`: {separate, "k_proj_weight", zeros(2, 3)},
		`tensor "x.v_proj_weight" has shape [5 5], want a multiple of 2 rows, for 2 and 2 heads`:    {separate, "v_proj_weight", zeros(5, 5)},
		`tensor "x.W_key.weight" is missing`:                                                        {bare, "W_key.weight", nil},
		`tensor "x.W_query.bias" is missing`:                                                        {bare, "W_value.bias", zeros(2)},
		`tensor "x.k_proj.weight" is missing`:                                                       {model, "k_proj.weight", nil},
		`tensor "x.o_proj.weight" is missing`:                                                       {model, "o_proj.weight", nil},
		`tensor "x.v_proj.bias" has shape [3], want [4]`:                                            {model, "v_proj.bias", zeros(3)},
		`tensor "x.q_norm.bias" is none of this layer`:                                              {model, "q_norm.bias", zeros(2)},
		`tensor "x.q_norm.weight" has shape [3], want [2] for a head or [4] for all heads`:          {model, "q_norm.weight", zeros(3)},
		`tensor "x.k_norm.weight" has shape [2 2], want [2] for a head or [4] for all heads`:        {good, "k_norm.weight", zeros(2, 2)},
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
		_, err := layer.Read(&safetensors.File{Tensors: all}, "x.", exactBatch[float32](2, 2), layer.Options{})
		assert.EqualError(t, err, "layer: "+want)
	}
	_, err := layer.Read(nil, "", exactBatch[float32](2, 2), layer.Options{})
	assert.EqualError(t, err, "layer: f is nil")
	_, err = layer.Read[float32](&safetensors.File{}, "", performer.Batch[float32]{}, layer.Options{})
	assert.EqualError(t, err, "layer: attention is zero, want one of a constructor")

	l := must.Have(layer.New(goldenProjections[float32](), exactBatch[float32](2, 2), layer.Options{}))
	assert.ErrorContains(t, l.Write(io.Discard, "\xff"), "want valid UTF-8")
	assert.ErrorIs(t, l.Write(brokenWriter{}, ""), errBroken)
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
