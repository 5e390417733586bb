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
// Read ignores angles of rotary positions, and a second matrix of tied embeddings. The error names
// a tensor that is missing, unknown, or of another shape or type.
func Read(f *safetensors.File, c Config, heads performer.Batch[float32]) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &Model{Config: c}
	var err error
	if m.rotary, err = layer.NewRotary[float32](c.HeadDim, layer.RotaryOptions{Base: c.Base}); err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	r := reader{left: maps.Clone(f.Tensors)}
	m.embedding = r.matrix("model.embed_tokens.weight", c.Vocabulary, c.Width)
	m.out = m.embedding
	if !c.Tied {
		m.out = r.matrix("lm_head.weight", c.Vocabulary, c.Width)
	}
	m.norm = r.floats("model.norm.weight", c.Width)
	d, keys := c.Heads*c.HeadDim, c.KeyHeads*c.HeadDim
	for i := range c.Layers {
		name := func(part string) string { return fmt.Sprintf("model.layers.%d.%s.weight", i, part) }
		m.blocks = append(m.blocks, &block{
			attentionNorm: r.floats(name("input_layernorm"), c.Width),
			gatedNorm:     r.floats(name("post_attention_layernorm"), c.Width),
			qkv: stack(r.matrix(name("self_attn.q_proj"), d, c.Width),
				r.matrix(name("self_attn.k_proj"), keys, c.Width), r.matrix(name("self_attn.v_proj"), keys, c.Width)),
			out:    r.matrix(name("self_attn.o_proj"), c.Width, d),
			gateUp: stack(r.matrix(name("mlp.gate_proj"), c.Inner, c.Width), r.matrix(name("mlp.up_proj"), c.Inner, c.Width)),
			down:   r.matrix(name("mlp.down_proj"), c.Width, c.Inner),
			heads:  heads,
		})
	}
	for name := range r.left {
		if r.err == nil && !strings.HasSuffix(name, ".rotary_emb.inv_freq") && name != "lm_head.weight" {
			r.err = fmt.Errorf("tensor %q is not one of the model", name)
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("decoder: %w", r.err)
	}
	return m, nil
}

// reader reads tensors and removes them from left. It keeps the first error.
type reader struct {
	left map[string]safetensors.Tensor
	err  error
}

// matrix returns the matrix of a tensor.
func (r *reader) matrix(name string, rows, cols int) dense.Matrix[float32] {
	return dense.Of(rows, cols, r.floats(name, rows, cols))
}

// floats returns the elements of a tensor, or zeros after an error.
func (r *reader) floats(name string, shape ...int) []float32 {
	size := 1
	for _, n := range shape {
		size *= n
	}
	t, ok := r.left[name]
	delete(r.left, name)
	var x []float32
	var err error
	switch {
	case !ok:
		err = fmt.Errorf("tensor %q is missing", name)
	case !slices.Equal(t.Shape, shape):
		err = fmt.Errorf("tensor %q: the shape is %v, want %v", name, t.Shape, shape)
	case !slices.Contains([]safetensors.DType{safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16}, t.DType):
		// Weights of fewer bits have scales.
		err = fmt.Errorf("tensor %q: the type is %s, want F64, F32, F16 or BF16", name, t.DType)
	default:
		if x, err = safetensors.Floats[float32](t); err != nil {
			err = fmt.Errorf("tensor %q: %w", name, err)
		}
	}
	if err != nil {
		x = make([]float32, size)
		if r.err == nil {
			r.err = err
		}
	}
	return x
}

// stack returns the matrices below one another.
func stack(all ...dense.Matrix[float32]) dense.Matrix[float32] {
	var data []float32
	for _, m := range all {
		data = append(data, m.Data...)
	}
	return dense.Of(len(data)/all[0].Cols, all[0].Cols, data)
}
