package decoder

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Read returns the model of a file with the names of Llama. heads is the attention of all layers.
// weights is the type of weights, as in layer.Options. Read ignores angles of rotary positions, and
// a second matrix of tied embeddings. The error names a tensor that is missing, unknown, or of
// another shape or type.
func Read(f *safetensors.File, c Config, heads performer.Batch[float32], weights safetensors.DType) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &Model{Config: c}
	r := weightReader{left: maps.Clone(f.Tensors), weights: weights}
	maps.DeleteFunc(r.left, func(name string, _ safetensors.Tensor) bool { return strings.HasSuffix(name, ".rotary_emb.inv_freq") })
	m.embedding = r.linear("model.embed_tokens.weight", c.Vocabulary, c.Width)
	m.out = m.embedding
	if !c.Tied {
		m.out = r.linear("lm_head.weight", c.Vocabulary, c.Width)
	}
	norm := func(name string) layer.RMSNorm[float32] {
		return layer.RMSNorm[float32]{Gain: r.floats(name, c.Width), Epsilon: c.Epsilon}
	}
	m.norm = norm("model.norm.weight")
	for i := range c.Layers {
		name := func(part string) string { return fmt.Sprintf("model.layers.%d.%s", i, part) }
		m.blocks = append(m.blocks, &decoderLayer{
			attentionNorm: norm(name("input_layernorm.weight")),
			gatedNorm:     norm(name("post_attention_layernorm.weight")),
			attention:     r.attention(name("self_attn."), c, heads),
			gate:          r.linear(name("mlp.gate_proj.weight"), c.Inner, c.Width),
			up:            r.linear(name("mlp.up_proj.weight"), c.Inner, c.Width),
			down:          r.linear(name("mlp.down_proj.weight"), c.Width, c.Inner),
		})
	}
	for name := range r.left {
		if r.err == nil && name != "lm_head.weight" {
			r.err = fmt.Errorf("tensor %q is not one of the model", name)
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("decoder: %w", r.err)
	}
	return m, nil
}

// weightReader removes the tensors that it reads from left, and keeps the first error.
type weightReader struct {
	left    map[string]safetensors.Tensor
	weights safetensors.DType
	err     error
}

func (r *weightReader) attention(prefix string, c Config, heads performer.Batch[float32]) *layer.MultiHead[float32] {
	d, keys := c.Heads*c.HeadDim, c.KeyHeads*c.HeadDim
	for name, shape := range map[string][]int{"q_proj": {d, c.Width}, "k_proj": {keys, c.Width}, "v_proj": {keys, c.Width}, "o_proj": {c.Width, d}} {
		if t, ok := r.left[prefix+name+".weight"]; ok && !slices.Equal(t.Shape, shape) {
			r.fail(fmt.Errorf("tensor %q: the shape is %v, want %v", prefix+name+".weight", t.Shape, shape))
		}
	}
	l, err := layer.Read(&safetensors.File{Tensors: r.left}, prefix, heads, layer.Options{Rotary: &layer.RotaryOptions{Base: c.Base}, Weights: r.weights})
	r.fail(err)
	maps.DeleteFunc(r.left, func(name string, _ safetensors.Tensor) bool { return strings.HasPrefix(name, prefix) })
	return l
}

// Elements keep their type if it has 16 bits.
func (r *weightReader) linear(name string, rows, cols int) *layer.Linear[float32] {
	weights := r.weights
	if t := r.left[name].DType; weights == "" && (t == safetensors.F16 || t == safetensors.BF16) {
		weights = t
	}
	x := r.floats(name, rows, cols)
	if r.err != nil {
		return nil
	}
	l, err := layer.NewLinear(dense.Of(rows, cols, x), nil, weights)
	r.fail(err)
	return l
}

func (r *weightReader) floats(name string, shape ...int) []float32 {
	t, ok := r.left[name]
	delete(r.left, name)
	x, err := safetensors.Floats[float32](t)
	switch {
	case !ok:
		err = fmt.Errorf("tensor %q is missing", name)
	case !slices.Equal(t.Shape, shape):
		err = fmt.Errorf("tensor %q: the shape is %v, want %v", name, t.Shape, shape)
	case !slices.Contains([]safetensors.DType{safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16}, t.DType):
		// Weights of fewer bits have scales.
		err = fmt.Errorf("tensor %q: the type is %s, want F64, F32, F16 or BF16", name, t.DType)
	}
	r.fail(err)
	return x
}

func (r *weightReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
