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
	if _, err := layer.NewRotary[float32](c.HeadDim, layer.RotaryOptions{Base: c.Base}); err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	m := &Model{Config: c}
	r := reader{left: maps.Clone(f.Tensors)}
	maps.DeleteFunc(r.left, func(name string, _ safetensors.Tensor) bool { return strings.HasSuffix(name, ".rotary_emb.inv_freq") })
	m.embedding = r.matrix("model.embed_tokens.weight", c.Vocabulary, c.Width)
	m.out = m.embedding
	if !c.Tied {
		m.out = r.matrix("lm_head.weight", c.Vocabulary, c.Width)
	}
	norm := func(name string) layer.RMSNorm[float32] {
		return layer.RMSNorm[float32]{Gain: r.floats(name, c.Width), Epsilon: c.Epsilon}
	}
	m.norm = norm("model.norm.weight")
	for i := range c.Layers {
		name := func(part string) string { return fmt.Sprintf("model.layers.%d.%s", i, part) }
		m.blocks = append(m.blocks, &block{
			attentionNorm: norm(name("input_layernorm.weight")),
			gatedNorm:     norm(name("post_attention_layernorm.weight")),
			attention:     r.attention(name("self_attn."), c, heads),
			gateUp:        stack(r.matrix(name("mlp.gate_proj.weight"), c.Inner, c.Width), r.matrix(name("mlp.up_proj.weight"), c.Inner, c.Width)),
			down:          r.matrix(name("mlp.down_proj.weight"), c.Width, c.Inner),
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

// reader reads tensors and removes them from left. It keeps the first error.
type reader struct {
	left map[string]safetensors.Tensor
	err  error
}

// attention returns the attention layer of the tensors with a prefix.
func (r *reader) attention(prefix string, c Config, heads performer.Batch[float32]) *layer.MultiHead[float32] {
	l, err := layer.Read(&safetensors.File{Tensors: r.left}, prefix, heads, layer.Options{Rotary: &layer.RotaryOptions{Base: c.Base}})
	if err == nil {
		d, keys := c.Heads*c.HeadDim, c.KeyHeads*c.HeadDim
		p := l.Projections()
		for _, w := range []struct {
			name       string
			weight     dense.Matrix[float32]
			rows, cols int
		}{{"q_proj", p.Query, d, c.Width}, {"k_proj", p.Key, keys, c.Width}, {"v_proj", p.Value, keys, c.Width}, {"o_proj", p.Output, c.Width, d}} {
			if w.weight.Rows != w.rows || w.weight.Cols != w.cols {
				err = fmt.Errorf("tensor %q: the shape is [%d %d], want [%d %d]", prefix+w.name+".weight", w.weight.Rows, w.weight.Cols, w.rows, w.cols)
			}
		}
	}
	if err != nil && r.err == nil {
		r.err = err
	}
	maps.DeleteFunc(r.left, func(name string, _ safetensors.Tensor) bool { return strings.HasPrefix(name, prefix) })
	return l
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
