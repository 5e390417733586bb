package decoder

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// slot is where a tensor of a file goes in the memory of a model.
type slot[T dense.Float] struct {
	to         dense.Matrix[T]
	vector     bool // the tensor has one dimension
	transposed bool // rows of the tensor belong to inputs, as in GPT-2's Conv1D
}

// slots returns the parameters by the names that files of Llama or GPT-2 have.
func (m *Model[T]) slots() map[string]slot[T] {
	all := make(map[string]slot[T])
	if m.GPT2 {
		m.gpt2Slots(all)
	} else {
		m.llamaSlots(all)
	}
	if m.Untied {
		all["lm_head.weight"] = slot[T]{to: m.out.Value}
	}
	return all
}

func (m *Model[T]) llamaSlots(all map[string]slot[T]) {
	all["model.embed_tokens.weight"] = slot[T]{to: m.embedding.Value}
	gain := func(name string, l sublayer[T]) { all[name] = slot[T]{to: l.(*rmsNorm[T]).gain.Value, vector: true} }
	gain("model.norm.weight", m.norm)
	for i, b := range m.blocks {
		name := func(s string) string { return fmt.Sprintf("model.layers.%d.%s.weight", i, s) }
		matrix := func(s string, w dense.Matrix[T]) { all[name(s)] = slot[T]{to: w} }
		a, inner := b.attention, b.inner.(*gated[T])
		qkv, gateUp := a.in.weight.Value, inner.in.weight.Value
		matrix("self_attn.q_proj", qkv.RowRange(0, a.d))
		matrix("self_attn.k_proj", qkv.RowRange(a.d, a.d+a.keys))
		matrix("self_attn.v_proj", qkv.RowRange(a.d+a.keys, qkv.Rows))
		matrix("self_attn.o_proj", a.out.weight.Value)
		matrix("mlp.gate_proj", gateUp.RowRange(0, m.Inner))
		matrix("mlp.up_proj", gateUp.RowRange(m.Inner, gateUp.Rows))
		matrix("mlp.down_proj", inner.down.weight.Value)
		gain(name("input_layernorm"), b.attentionNorm)
		gain(name("post_attention_layernorm"), b.innerNorm)
	}
}

func (m *Model[T]) gpt2Slots(all map[string]slot[T]) {
	all["wte.weight"] = slot[T]{to: m.embedding.Value}
	all["wpe.weight"] = slot[T]{to: m.positions.Value}
	norm := func(name string, l sublayer[T]) {
		all[name+".weight"] = slot[T]{to: l.(*layerNorm[T]).gain.Value, vector: true}
		all[name+".bias"] = slot[T]{to: l.(*layerNorm[T]).offset.Value, vector: true}
	}
	norm("ln_f", m.norm)
	for i, b := range m.blocks {
		name := fmt.Sprintf("h.%d.", i)
		linear := func(s string, l *linear[T]) {
			all[name+s+".weight"] = slot[T]{to: l.weight.Value, transposed: true}
			all[name+s+".bias"] = slot[T]{to: l.bias.Value, vector: true}
		}
		inner := b.inner.(*gelu[T])
		norm(name+"ln_1", b.attentionNorm)
		linear("attn.c_attn", b.attention.in)
		linear("attn.c_proj", b.attention.out)
		norm(name+"ln_2", b.innerNorm)
		linear("mlp.c_fc", inner.up)
		linear("mlp.c_proj", inner.down)
	}
}

// Read returns the model of a file with the names of Llama or GPT-2. heads returns the attention of
// a layer. Tensors that hold no parameters, such as masks, are ignored, and so is the prefix
// "transformer." of GPT-2. The error names a tensor that is missing, unknown, or of another shape.
func Read[T dense.Float](f *safetensors.File, c Config, heads func(layer int) (Attention[T], error)) (*Model[T], error) {
	m, err := New(c, heads, exprand.NewSource(1))
	if err != nil {
		return nil, err
	}
	return m, m.Load(f)
}

// Load sets the parameters to those of a file; see Read.
func (m *Model[T]) Load(f *safetensors.File) error {
	mine, taken := m.slots(), make(map[string]bool)
	for full, t := range f.Tensors {
		name := full
		if m.GPT2 {
			name = strings.TrimPrefix(full, "transformer.")
		}
		s, ok := mine[name]
		switch {
		case !ok && m.ignores(name):
			continue
		case !ok:
			return fmt.Errorf("decoder: tensor %q is not one of the model", full)
		case taken[name]:
			return fmt.Errorf("decoder: tensor %q is there twice", name)
		}
		if err := s.load(t); err != nil {
			return fmt.Errorf("decoder: tensor %q: %w", full, err)
		}
		taken[name] = true
	}
	for name := range mine {
		if !taken[name] {
			return fmt.Errorf("decoder: tensor %q is missing", name)
		}
	}
	return nil
}

// ignores reports whether a tensor holds masks or angles, or the embeddings a second time.
func (m *Model[T]) ignores(name string) bool {
	if m.GPT2 {
		return strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias") || name == "lm_head.weight"
	}
	return strings.HasSuffix(name, ".rotary_emb.inv_freq") || name == "lm_head.weight"
}

// shape returns the shape of the tensor.
func (s slot[T]) shape() []int {
	switch {
	case s.vector:
		return []int{s.to.Cols}
	case s.transposed:
		return []int{s.to.Cols, s.to.Rows}
	}
	return []int{s.to.Rows, s.to.Cols}
}

func (s slot[T]) load(t safetensors.Tensor) error {
	if want := s.shape(); fmt.Sprint(t.Shape) != fmt.Sprint(want) {
		return fmt.Errorf("the shape is %v, want %v", t.Shape, want)
	}
	switch t.DType {
	case safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16:
	default: // weights of fewer bits have scales
		return fmt.Errorf("the type is %s, want F64, F32, F16 or BF16", t.DType)
	}
	x, err := safetensors.Floats[T](t)
	if err != nil {
		return err
	}
	for i := range s.to.Rows {
		for j := range s.to.Cols {
			if s.transposed {
				s.to.Set(i, j, x[j*s.to.Rows+i])
			} else {
				s.to.Set(i, j, x[i*s.to.Cols+j])
			}
		}
	}
	return nil
}

// Write writes the parameters of a model with the layers of Llama as a safetensors file, in half
// precision (float16) or as float32.
func (m *Model[T]) Write(w io.Writer, metadata map[string]string, inHalf bool) error {
	f := &safetensors.File{Metadata: metadata, Tensors: make(map[string]safetensors.Tensor)}
	for name, s := range m.slots() {
		if s.transposed {
			return fmt.Errorf("decoder: tensor %q is transposed, and only models of Llama are written", name)
		}
		t := safetensors.Tensor{DType: safetensors.F32, Shape: s.shape()}
		if inHalf {
			t.DType = safetensors.F16
		}
		for i := range s.to.Rows {
			t.Data = appendFloats(t.Data, s.to.Row(i), inHalf)
		}
		f.Tensors[name] = t
	}
	return safetensors.Write(w, f)
}

func appendFloats[T dense.Float](data []byte, x []T, inHalf bool) []byte {
	if inHalf {
		for _, h := range half.Encode[half.Float16](nil, x) {
			data = binary.LittleEndian.AppendUint16(data, uint16(h))
		}
		return data
	}
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return data
}
