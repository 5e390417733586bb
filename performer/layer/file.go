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

// Read returns a layer with the given attention and the tensors of f whose names begin with prefix,
// such as "model.layers.0.self_attn.". After prefix, names of tensors must be of one of five kinds,
// such as those of PyTorch's nn.MultiheadAttention:
//
//	in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias  PyTorch's nn.MultiheadAttention
//	q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, …  with inputs of three widths
//	{q,k,v}_proj.weight, .bias; {o,out}_proj.weight, .bias        most models of Hugging Face
//	c_attn.weight, c_attn.bias, c_proj.weight, c_proj.bias        GPT-2 and models after it
//	W_{query,key,value}.weight, .bias                             no output projection
//
// A file for Read may lack biases, and may have the gains q_norm.weight and k_norm.weight of norms
// of queries and keys. Files of Gemma hold the gains of norms minus 1: add 1 to the gains of
// Projections. Read accepts tensors of type F64, F32, F16 and BF16. If one or two of the tensors
// q_proj.bias, k_proj.bias and v_proj.bias are missing, Read sets the missing biases to zero. For
// keys and values of equal dimension, the tensor in_proj_weight or c_attn.weight holds the matrices
// of queries, keys and values together, and in_proj_bias or c_attn.bias the three biases one after
// another.
//
// Read transposes the tensors c_attn.weight and c_proj.weight of GPT-2 if c_attn.weight has more
// columns than rows. A file of weights has neither the options of rotary positions nor the ε of
// norms, which are in opts.
//
// Read returns an error that names a missing tensor, one of wrong shape or type, or one with the
// prefix that is no part of the layer; Read ignores the masks bias and masked_bias of GPT-2. Read
// also returns an error for a zero Batch attention, for a nil file f, and where [New] does.
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
// function name with each parameter name of [Projections.Parameters], such as q_proj_weight, and
// reads the tensor of the returned name, or no tensor if the returned name is empty.
//
// If the function name returns one name for the weights of queries, keys and values, ReadNamed
// reads the tensor as Read reads c_attn.weight, and the weights of the output as Read reads
// c_proj.weight. If the function name returns one name for the biases of queries, keys and values,
// the tensor holds the three biases one after another. If the file has a bias for one or two of
// queries, keys and values, ReadNamed sets the missing biases to zero.
//
// ReadNamed returns an error if the function name returns no name for the weights of queries, of
// keys or of values. If the function name returns an empty name for out_proj.weight, the layer has
// no output projection.
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

// layer returns the layer of the projections p, with weights of the type in the file if
// opts.Weights is empty and all weights in the file are F16 or all are BF16.
func (t *tensors[T]) layer(p Projections[T], attention performer.Batch[T], opts Options) (*MultiHead[T], error) {
	for dtype := range t.types {
		if opts.Weights == "" && len(t.types) == 1 && isShort(dtype) {
			opts.Weights = dtype
		}
	}
	return New(p, attention, opts)
}

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

// Write writes the weights, biases and gains of norms of the layer to w as a safetensors file for
// [Read]. A PyTorch layer with parameters of equal names and shapes can read the file that Write
// writes. For a layer with an output projection, Write joins the weights W_Q, W_K and W_V of
// queries, keys and values in one tensor if all three have equally many columns, and W_K and W_V
// equally many rows. The tensors in the file of Write have the type and the bits of the weights in
// the layer. Write returns an error if writing to w fails, or if prefix is not UTF-8.
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
