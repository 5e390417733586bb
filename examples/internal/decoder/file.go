package decoder

import (
	"fmt"
	"io"
	"slices"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// slots returns the parameters by the names that files of Llama have.
func (m *Model[T]) slots() map[string]dense.Matrix[T] {
	all := map[string]dense.Matrix[T]{
		"model.embed_tokens.weight": m.embedding.Value,
		"model.norm.weight":         m.norm.gain.Value,
	}
	if !m.Tied {
		all["lm_head.weight"] = m.out.Value
	}
	for i, b := range m.blocks {
		a := b.attention
		qkv, gateUp := a.in.weight.Value, b.inner.in.weight.Value
		for name, w := range map[string]dense.Matrix[T]{
			"self_attn.q_proj":         qkv.RowRange(0, a.d),
			"self_attn.k_proj":         qkv.RowRange(a.d, a.d+a.keys),
			"self_attn.v_proj":         qkv.RowRange(a.d+a.keys, qkv.Rows),
			"self_attn.o_proj":         a.out.weight.Value,
			"mlp.gate_proj":            gateUp.RowRange(0, m.Inner),
			"mlp.up_proj":              gateUp.RowRange(m.Inner, gateUp.Rows),
			"mlp.down_proj":            b.inner.down.weight.Value,
			"input_layernorm":          b.attentionNorm.gain.Value,
			"post_attention_layernorm": b.innerNorm.gain.Value,
		} {
			all[fmt.Sprintf("model.layers.%d.%s.weight", i, name)] = w
		}
	}
	return all
}

// shape returns the shape of the tensor of a parameter: gains of norms are vectors.
func shape[T dense.Float](name string, w dense.Matrix[T]) []int {
	if strings.HasSuffix(name, "norm.weight") {
		return []int{w.Cols}
	}
	return []int{w.Rows, w.Cols}
}

// Read returns the model of a file with the names of Llama. heads returns the attention of a layer.
// Angles of rotary positions are ignored, and so are embeddings that are there a second time. The
// error names a tensor that is missing, unknown, or of another shape.
func Read[T dense.Float](f *safetensors.File, c Config, heads func(layer int) (Attention[T], error)) (*Model[T], error) {
	m, err := New(c, heads, exprand.NewSource(1))
	if err != nil {
		return nil, err
	}
	mine := m.slots()
	for name, t := range f.Tensors {
		to, ok := mine[name]
		switch {
		case ok:
			if err := load(to, shape(name, to), t); err != nil {
				return nil, fmt.Errorf("decoder: tensor %q: %w", name, err)
			}
		case !strings.HasSuffix(name, ".rotary_emb.inv_freq") && name != "lm_head.weight":
			return nil, fmt.Errorf("decoder: tensor %q is not one of the model", name)
		}
	}
	for name := range mine {
		if _, ok := f.Tensors[name]; !ok {
			return nil, fmt.Errorf("decoder: tensor %q is missing", name)
		}
	}
	return m, nil
}

func load[T dense.Float](to dense.Matrix[T], shape []int, t safetensors.Tensor) error {
	if !slices.Equal(t.Shape, shape) {
		return fmt.Errorf("the shape is %v, want %v", t.Shape, shape)
	}
	// Weights of fewer bits have scales.
	if !slices.Contains([]safetensors.DType{safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16}, t.DType) {
		return fmt.Errorf("the type is %s, want F64, F32, F16 or BF16", t.DType)
	}
	x, err := safetensors.Floats[T](t)
	if err != nil {
		return err
	}
	dense.Copy(to, dense.Of(to.Rows, to.Cols, x))
	return nil
}

// Write writes the parameters as a safetensors file in half precision (float16).
func (m *Model[T]) Write(w io.Writer) error {
	f := &safetensors.File{Tensors: make(map[string]safetensors.Tensor)}
	for name, p := range m.slots() {
		t, err := safetensors.FromFloats(shape(name, p), half.Encode[half.Float16](nil, p.Clone().Data))
		if err != nil {
			return err
		}
		f.Tensors[name] = t
	}
	return safetensors.Write(w, f)
}
