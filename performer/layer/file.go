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

const (
	// Names of tensors of PyTorch's nn.MultiheadAttention.
	inProjWeight  = "in_proj_weight"
	inProjBias    = "in_proj_bias"
	outProjWeight = "out_proj.weight"
	outProjBias   = "out_proj.bias"

	// Names of tensors of GPT-2.
	attnWeight = "c_attn.weight"
	attnBias   = "c_attn.bias"
	projWeight = "c_proj.weight"
	projBias   = "c_proj.bias"
)

var (
	// Names of tensors of PyTorch's nn.MultiheadAttention if inputs have different dimensions.
	separateWeights = [3]string{"q_proj_weight", "k_proj_weight", "v_proj_weight"}
	separateBiases  = [3]string{"q_proj_bias", "k_proj_bias", "v_proj_bias"}

	// Names of tensors of layers without an output projection: three nn.Linear with usual names.
	memberWeights = [3]string{"W_query.weight", "W_key.weight", "W_value.weight"}
	memberBiases  = [3]string{"W_query.bias", "W_key.bias", "W_value.bias"}

	// Names of tensors of models of Hugging Face.
	modelWeights = [3]string{"q_proj.weight", "k_proj.weight", "v_proj.weight"}
	modelBiases  = [3]string{"q_proj.bias", "k_proj.bias", "v_proj.bias"}
	modelOutputs = [2]string{"o_proj.", "out_proj."}
	normWeights  = [2]string{"q_norm.weight", "k_norm.weight"}

	attnMasks = [2]string{"bias", "masked_bias"} // of GPT-2
)

// Read returns a layer with the given attention and with the weights in those tensors of the file f
// whose names begin with the prefix, such as "model.layers.0.self_attn.". After the prefix, Read
// takes one of these sets of names:
//
//	in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias  PyTorch's nn.MultiheadAttention
//	q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, …  with inputs of three widths
//	{q,k,v}_proj.weight, .bias; {o,out}_proj.weight, .bias        most models of Hugging Face
//	c_attn.weight, c_attn.bias, c_proj.weight, c_proj.bias        GPT-2 and models after it
//	W_{query,key,value}.weight, .bias                             no output projection
//
// Each set of tensors that Read takes may lack biases, and may have the gains q_norm.weight and
// k_norm.weight of norms of queries and keys, as in Qwen3, Gemma 3 and OLMo 2. Files of Gemma hold
// the gains of norms minus 1; the caller of Read adds 1 through Projections. The tensors
// in_proj_weight (only for dv = d) and c_attn.weight hold W_Q, W_K and W_V together, and
// in_proj_bias and c_attn.bias hold the three biases one after another. If some but not all of
// {q,k,v}_proj.bias are missing, the missing biases are zero.
//
// Rows of weight matrices belong to outputs, except in GPT-2's Conv1D, where rows belong to inputs:
// Read transposes c_attn.weight and c_proj.weight if c_attn.weight is E×3E or, with H heads of
// queries and Hk heads of keys, E×(1 + 2·Hk/H)·E. Elements of tensors have type F64, F32, F16 or
// BF16; Options.Weights is the type of the elements in the layer. A file of weights has neither
// rotary positions nor the ε of norms; both are in the config.json of a model, and the caller of
// Read sets opts to them. The format safetensors has no checksum, so Read does not detect damaged
// weights.
//
// Read returns an error that names the tensor if a tensor is missing or has a wrong shape or type,
// or if a tensor with the prefix has a name outside the set; Read ignores the masks bias and
// masked_bias of GPT-2. Read also returns an error if attention is the zero Batch, if f is nil, and
// where [New] does.
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
	return t.layer(p, attention, opts)
}

// ReadNamed is [Read] for files with names of tensors that Read does not know. ReadNamed calls the
// function name with each name of [Projections.Parameters], and reads the tensor of the returned
// name, or no tensor if the returned name is empty. The names of Projections.Parameters are
//
//	q_proj_weight, q_proj_bias, k_proj_weight, …, out_proj.bias, q_norm.weight, k_norm.weight
//
// If name returns one name for the weights of queries, keys and values, the tensor has the layout
// of c_attn.weight in Read, and out_proj.weight is transposed if that tensor is. If name returns
// one name for the biases of queries, keys and values, the tensor holds the three biases one after
// another. ReadNamed needs a name for the weights of queries, of keys and of values. If name
// returns no name for out_proj.weight, the layer has no output projection. If some but not all of
// queries, keys and values have a bias, the missing biases are zero.
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
	return t.layer(p, attention, opts)
}

// layer returns the layer with weights of the type in the file if it is F16 or BF16.
func (t *tensors[T]) layer(p Projections[T], attention performer.Batch[T], opts Options) (*MultiHead[T], error) {
	for dtype := range t.types {
		if opts.Weights == "" && len(t.types) == 1 && isShort(dtype) {
			opts.Weights = dtype
		}
	}
	return New(p, attention, opts)
}

// newTensors returns the tensors of f whose names begin with the prefix.
func newTensors[T dense.Float](f *safetensors.File, prefix string, attention performer.Batch[T]) (*tensors[T], error) {
	heads, keyHeads, _, err := headsOf(attention)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("layer: f is nil")
	}
	t := &tensors[T]{prefix: prefix, heads: heads, keyHeads: keyHeads, left: map[string]safetensors.Tensor{}, types: map[safetensors.DType]bool{}}
	for name, tensor := range f.Tensors {
		if suffix, ok := strings.CutPrefix(name, prefix); ok {
			t.left[suffix] = tensor
		}
	}
	return t, nil
}

// Write writes the weights, biases and gains of the layer to w as a safetensors file for [Read].
// PyTorch can read the file too if PyTorch has a layer with the same parameters. The names of all
// tensors in the file begin with the prefix. With an output projection, Write joins W_Q, W_K and
// W_V in one tensor if queries, keys and values come from rows of one dimension and keys have the
// dimension of values. The elements in the file have the type and the bits of the layer. Write
// returns an error if writing to w fails, or if prefix is not valid UTF-8.
func (l *MultiHead[T]) Write(w io.Writer, prefix string) error {
	all := map[string]safetensors.Tensor{}
	var err error
	matrix := func(name string, below ...*Linear[T]) {
		if err == nil {
			all[prefix+name], err = tensor(below...)
		}
	}
	vector := func(name string, x []T) {
		if err == nil && x != nil {
			all[prefix+name], err = safetensors.FromFloats([]int{len(x)}, x)
		}
	}
	q, k, v := &l.query, &l.key, &l.value
	switch {
	case l.output.none():
		for i, m := range []*Linear[T]{q, k, v} {
			matrix(memberWeights[i], m)
			vector(memberBiases[i], m.bias)
		}
	case k.out == v.out && q.in == k.in && k.in == v.in:
		matrix(inProjWeight, q, k, v)
	default:
		for i, m := range []*Linear[T]{q, k, v} {
			matrix(separateWeights[i], m)
		}
	}
	if !l.output.none() {
		vector(inProjBias, slices.Concat(q.bias, k.bias, v.bias))
		matrix(outProjWeight, &l.output)
		vector(outProjBias, l.output.bias)
	}
	vector(normWeights[0], l.queryNorm.Gain)
	vector(normWeights[1], l.keyNorm.Gain)
	if err == nil {
		err = safetensors.Write(w, &safetensors.File{Tensors: all})
	}
	if err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	return nil
}
