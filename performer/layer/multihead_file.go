package layer

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// Names of tensors, those of PyTorch's nn.MultiheadAttention, of a layer without an output
// projection as three members of type nn.Linear are usually called in one, of models of Hugging
// Face, and of GPT-2.
const (
	inProjWeight  = "in_proj_weight"
	inProjBias    = "in_proj_bias"
	outProjWeight = "out_proj.weight"
	outProjBias   = "out_proj.bias"

	attnWeight = "c_attn.weight"
	attnBias   = "c_attn.bias"
	projWeight = "c_proj.weight"
	projBias   = "c_proj.bias"
)

var (
	separateWeights = [3]string{"q_proj_weight", "k_proj_weight", "v_proj_weight"}
	separateBiases  = [3]string{"q_proj_bias", "k_proj_bias", "v_proj_bias"}
	memberWeights   = [3]string{"W_query.weight", "W_key.weight", "W_value.weight"}
	memberBiases    = [3]string{"W_query.bias", "W_key.bias", "W_value.bias"}
	modelWeights    = [3]string{"q_proj.weight", "k_proj.weight", "v_proj.weight"}
	modelBiases     = [3]string{"q_proj.bias", "k_proj.bias", "v_proj.bias"}
	modelOutputs    = [2]string{"o_proj.", "out_proj."}
	attnMasks       = [2]string{"bias", "masked_bias"}
	normWeights     = [2]string{"q_norm.weight", "k_norm.weight"}
)

// Read takes the projections of a layer around attention from a file that safetensors.Read has
// read, for this layer and others. The tensors are those of PyTorch's nn.MultiheadAttention,
//
//	in_proj_weight                                W_Q, W_K and W_V below one another, or
//	q_proj_weight, k_proj_weight, v_proj_weight   each by itself
//	in_proj_bias                                  b_Q, b_K and b_V, one after another, or none
//	out_proj.weight, out_proj.bias                W_O and b_O, or W_O alone
//
// or those of most models of Hugging Face, such as Llama, Mistral, Qwen, OPT, BART and Whisper,
//
//	q_proj.weight, k_proj.weight, v_proj.weight   W_Q, W_K and W_V
//	q_proj.bias, k_proj.bias, v_proj.bias         all, some or none; others are zero
//	o_proj.weight or out_proj.weight, .bias       W_O and b_O, or W_O alone
//
// or those of GPT-2 and of models after it,
//
//	c_attn.weight, c_attn.bias                    W_Q, W_K and W_V side by side, or below one another
//	c_proj.weight, c_proj.bias                    W_O and b_O, or W_O alone
//	bias, masked_bias                             masks, which Read ignores
//
// or, without an output projection, W_query.weight, W_key.weight and W_value.weight, with or
// without W_query.bias, W_key.bias and W_value.bias. With any of them there may be
//
//	q_norm.weight, k_norm.weight                  gains of the norms of queries and keys
//
// as in Qwen3, Gemma 3 and OLMo 2. Files of Gemma hold the gains less 1, which is for the caller to
// add, through Projections. All names begin with the prefix, such as
// "model.layers.0.self_attn."; Read ignores tensors whose names do not. In in_proj_weight keys and
// values have one dimension a head. Rows belong to outputs, but to inputs where c_attn.weight of E
// columns for all queries is E×3E or, with Hk heads of keys for H of queries, E×(1 + 2·Hk/H)·E:
// such are the weights of GPT-2's Conv1D, and Read transposes c_attn.weight and c_proj.weight.
// Elements of type F64, F32, F16 and BF16 are converted to T. Rotary positions and the ε of norms
// are not in the file: the caller gives them in the options, as the model's config.json has them.
// The format has no checksum: weights that were damaged are other weights.
//
// Read returns an error if attention is nil or zero, or f is nil; if a tensor is missing, has
// another shape or type, or has the prefix and is not in this list; and in the cases of [New]. The
// error names the tensor.
func Read[T dense.Float](f *safetensors.File, prefix string, attention performer.Batch[T], opts Options) (*MultiHead[T], error) {
	t, err := newTensors(f, prefix, attention)
	if err != nil {
		return nil, err
	}
	p := t.projections()
	t.takeNorms(&p, [2]string{t.named(normWeights[0]), t.named(normWeights[1])})
	t.allTaken()
	if t.err != nil {
		return nil, fmt.Errorf("layer: %w", t.err)
	}
	return New(p, attention, opts)
}

// ReadNamed is [Read] for other names of tensors. It calls name with each of the names that
// [Projections.Parameters] gives,
//
//	q_proj_weight, q_proj_bias, k_proj_weight, …, out_proj.bias, q_norm.weight, k_norm.weight
//
// and takes the tensor with the name that is returned, from anywhere in the file; "" means none. One
// name for all three weights stands for a tensor like c_attn.weight of Read, in either layout, and
// the layout of out_proj.weight is the same. One name for all three biases stands for one after
// another.
//
// The weights of queries, keys and values are necessary. Without out_proj.weight the layer has no
// output projection. If queries, keys or values have a bias, those without have a bias of zero.
func ReadNamed[T dense.Float](f *safetensors.File, name func(parameter string) string, attention performer.Batch[T], opts Options) (*MultiHead[T], error) {
	if name == nil {
		return nil, errors.New("layer: name is nil")
	}
	t, err := newTensors(f, "", attention)
	if err != nil {
		return nil, err
	}
	var weights, biases [3]string
	for i, parameter := range separateWeights {
		weights[i], biases[i] = name(parameter), name(separateBiases[i])
		if weights[i] == "" {
			return nil, fmt.Errorf("layer: name gives none for %s, want the name of a tensor", parameter)
		}
	}
	var p Projections[T]
	byInputs := false
	if weights[0] == weights[1] && weights[1] == weights[2] {
		byInputs = t.takeTogether(&p, weights[0])
	} else {
		t.take3(&p, weights)
	}
	if biases[0] != "" && biases[0] == biases[1] && biases[1] == biases[2] {
		t.takeBias(&p, biases[0])
	} else {
		t.takeBiases(&p, biases)
	}
	if output := name(outProjWeight); output != "" {
		t.takeOutput(&p, output, name(outProjBias), byInputs)
	}
	t.takeNorms(&p, [2]string{name(normWeights[0]), name(normWeights[1])})
	if t.err != nil {
		return nil, fmt.Errorf("layer: %w", t.err)
	}
	return New(p, attention, opts)
}

// newTensors returns the tensors of a file whose names begin with the prefix.
func newTensors[T dense.Float](f *safetensors.File, prefix string, attention performer.Batch[T]) (*tensors[T], error) {
	heads, keyHeads, _, err := headsOf(attention)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("layer: f is nil")
	}
	t := &tensors[T]{prefix: prefix, heads: heads, keyHeads: keyHeads, left: map[string]safetensors.Tensor{}}
	for name, tensor := range f.Tensors {
		if suffix, ok := strings.CutPrefix(name, prefix); ok {
			t.left[suffix] = tensor
		}
	}
	return t, nil
}

// Write writes the projections as a safetensors file, which [Read] reads, and PyTorch too if it has
// such a layer. Names begin with the prefix. W_Q, W_K and W_V are one tensor if their inputs have
// one dimension, and keys have the dimension of values. Elements keep their type and their bits.
// Write returns an error if w does, or if prefix is not valid UTF-8.
func (l *MultiHead[T]) Write(w io.Writer, prefix string) error {
	p := l.Projections()
	all := map[string]safetensors.Tensor{}
	var err error
	put := func(name string, shape []int, x []T) {
		if err == nil {
			all[prefix+name], err = safetensors.FromFloats(shape, x)
		}
	}
	weights, biases := [3]dense.Matrix[T]{p.Query, p.Key, p.Value}, [3][]T{p.QueryBias, p.KeyBias, p.ValueBias}
	switch {
	case l.output.none():
		for i, m := range weights {
			put(memberWeights[i], []int{m.Rows, m.Cols}, m.Data)
			if biases[i] != nil {
				put(memberBiases[i], []int{m.Rows}, biases[i])
			}
		}
	case p.Key.Rows == p.Value.Rows && p.Query.Cols == p.Key.Cols && p.Key.Cols == p.Value.Cols:
		rows := p.Query.Rows + p.Key.Rows + p.Value.Rows
		put(inProjWeight, []int{rows, p.Query.Cols}, slices.Concat(p.Query.Data, p.Key.Data, p.Value.Data))
	default:
		for i, m := range weights {
			put(separateWeights[i], []int{m.Rows, m.Cols}, m.Data)
		}
	}
	if !l.output.none() {
		if all := slices.Concat(biases[:]...); all != nil {
			put(inProjBias, []int{len(all)}, all)
		}
		put(outProjWeight, []int{p.Output.Rows, p.Output.Cols}, p.Output.Data)
		if p.OutputBias != nil {
			put(outProjBias, []int{len(p.OutputBias)}, p.OutputBias)
		}
	}
	for i, gain := range [2][]T{p.QueryNorm, p.KeyNorm} {
		if gain != nil {
			put(normWeights[i], []int{len(gain)}, gain)
		}
	}
	if err == nil {
		err = safetensors.Write(w, &safetensors.File{Tensors: all})
	}
	if err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	return nil
}
