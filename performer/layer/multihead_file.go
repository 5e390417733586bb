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
// projection as three members of type nn.Linear are usually called in one, and of models of Hugging
// Face.
const (
	inProjWeight  = "in_proj_weight"
	inProjBias    = "in_proj_bias"
	outProjWeight = "out_proj.weight"
	outProjBias   = "out_proj.bias"
)

var (
	separateWeights = [3]string{"q_proj_weight", "k_proj_weight", "v_proj_weight"}
	separateBiases  = [3]string{"q_proj_bias", "k_proj_bias", "v_proj_bias"}
	memberWeights   = [3]string{"W_query.weight", "W_key.weight", "W_value.weight"}
	memberBiases    = [3]string{"W_query.bias", "W_key.bias", "W_value.bias"}
	modelWeights    = [3]string{"q_proj.weight", "k_proj.weight", "v_proj.weight"}
	modelBiases     = [3]string{"q_proj.bias", "k_proj.bias", "v_proj.bias"}
	modelOutputs    = [2]string{"o_proj.", "out_proj."}
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
// or, without an output projection, W_query.weight, W_key.weight and W_value.weight, with or
// without W_query.bias, W_key.bias and W_value.bias. All names begin with the prefix, such as
// "model.layers.0.self_attn."; Read ignores tensors whose names do not. In in_proj_weight keys and
// values have one dimension a head. Rows belong to outputs. Elements of type F64, F32, F16 and BF16
// are converted to T. What a model does between projections and attention, such as the rotation of
// positions in Llama, is not in the file, and not in the layer.
//
// Read returns an error if attention or f is nil; if a tensor is missing, has another shape or
// type, or has the prefix and is not in this list; and in the cases of [New]. The error names the
// tensor.
func Read[T dense.Float](f *safetensors.File, prefix string, attention *performer.Batch[T]) (*MultiHead[T], error) {
	t, err := newTensors(f, prefix, attention)
	if err != nil {
		return nil, err
	}
	p := t.projections()
	t.allTaken()
	if t.err != nil {
		return nil, fmt.Errorf("layer: %w", t.err)
	}
	return New(p, attention)
}

// ReadNamed is [Read] for other names of tensors. It calls name with each of the names that
// [Projections.Parameters] gives,
//
//	q_proj_weight, q_proj_bias, k_proj_weight, …, out_proj.weight, out_proj.bias
//
// and takes the tensor with the name that is returned, from anywhere in the file; "" means none.
//
// The weights of queries, keys and values are necessary. Without out_proj.weight the layer has no
// output projection. If queries, keys or values have a bias, those without have a bias of zero.
func ReadNamed[T dense.Float](f *safetensors.File, name func(parameter string) string, attention *performer.Batch[T]) (*MultiHead[T], error) {
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
	t.take3(&p, weights)
	t.takeBiases(&p, biases)
	if output := name(outProjWeight); output != "" && t.err == nil {
		p.Output = t.matrix(output, 0, p.Value.Rows/t.keyHeads*t.heads)
		if bias := name(outProjBias); bias != "" {
			p.OutputBias = t.vector(bias, p.Output.Rows)
		}
	}
	if t.err != nil {
		return nil, fmt.Errorf("layer: %w", t.err)
	}
	return New(p, attention)
}

// newTensors returns the tensors of a file whose names begin with the prefix.
func newTensors[T dense.Float](f *safetensors.File, prefix string, attention *performer.Batch[T]) (*tensors[T], error) {
	if attention == nil {
		return nil, errors.New("layer: attention is nil")
	}
	if f == nil {
		return nil, errors.New("layer: f is nil")
	}
	heads, keyHeads, _ := attention.Dims()
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
	if err == nil {
		err = safetensors.Write(w, &safetensors.File{Tensors: all})
	}
	if err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	return nil
}

// tensors are those of a layer, which are taken out one after another. The first error
// stays.
type tensors[T dense.Float] struct {
	prefix          string
	heads, keyHeads int
	left            map[string]safetensors.Tensor
	err             error
}

// projections takes all that there are.
func (t *tensors[T]) projections() Projections[T] {
	var p Projections[T]
	switch {
	case t.has(inProjWeight):
		all := t.matrix(inProjWeight, t.heads+2*t.keyHeads, 0)
		d := all.Rows / (t.heads + 2*t.keyHeads)
		q, k := t.heads*d, (t.heads+t.keyHeads)*d
		p.Query, p.Key, p.Value = all.RowRange(0, q), all.RowRange(q, k), all.RowRange(k, all.Rows)
	case slices.ContainsFunc(memberWeights[:], t.has):
		t.take3(&p, memberWeights)
		if slices.ContainsFunc(memberBiases[:], t.has) {
			t.takeBiases(&p, memberBiases)
		}
		return p
	case slices.ContainsFunc(modelWeights[:], t.has):
		t.take3(&p, modelWeights)
		biases := modelBiases
		for i, name := range biases {
			if !t.has(name) {
				biases[i] = ""
			}
		}
		t.takeBiases(&p, biases)
		output := modelOutputs[0]
		if t.has(modelOutputs[1] + "weight") {
			output = modelOutputs[1]
		}
		t.takeOutput(&p, output+"weight", output+"bias")
		return p
	case slices.ContainsFunc(separateWeights[:], t.has):
		t.take3(&p, separateWeights)
	default:
		t.fail("tensor %.80q is missing, or %.80q, or %.80q", t.prefix+inProjWeight, t.prefix+separateWeights[0], t.prefix+modelWeights[0])
		return p
	}
	if t.has(inProjBias) {
		q, k := p.Query.Rows, p.Query.Rows+p.Key.Rows
		if all := t.vector(inProjBias, k+p.Value.Rows); t.err == nil {
			p.QueryBias, p.KeyBias, p.ValueBias = all[:q:q], all[q:k:k], all[k:]
		}
	}
	t.takeOutput(&p, outProjWeight, outProjBias)
	return p
}

// takeOutput takes W_O, and b_O if it is there.
func (t *tensors[T]) takeOutput(p *Projections[T], weight, bias string) {
	if p.Output = t.matrix(weight, 0, p.Value.Rows/t.keyHeads*t.heads); t.has(bias) {
		p.OutputBias = t.vector(bias, p.Output.Rows)
	}
}

// takeBiases takes b_Q, b_K and b_V. Those without a name are zero, or none if no name is given.
func (t *tensors[T]) takeBiases(p *Projections[T], names [3]string) {
	if names == [3]string{} {
		return
	}
	for i, bias := range []*[]T{&p.QueryBias, &p.KeyBias, &p.ValueBias} {
		rows := [3]int{p.Query.Rows, p.Key.Rows, p.Value.Rows}[i]
		if names[i] == "" {
			*bias = make([]T, rows)
		} else {
			*bias = t.vector(names[i], rows)
		}
	}
}

// take3 takes W_Q, W_K and W_V.
func (t *tensors[T]) take3(p *Projections[T], names [3]string) {
	p.Query = t.matrix(names[0], t.heads, 0)
	p.Key = t.matrix(names[1], t.keyHeads, 0)
	if rows := p.Query.Rows / t.heads * t.keyHeads; t.err == nil && p.Key.Rows != rows {
		t.fail("tensor %.80q is %d×%d, want %d rows, for %d heads like those of %.80q",
			t.prefix+names[1], p.Key.Rows, p.Key.Cols, rows, t.keyHeads, t.prefix+names[0])
	}
	p.Value = t.matrix(names[2], t.keyHeads, 0)
}

// allTaken fails with the first name if a tensor is left.
func (t *tensors[T]) allTaken() {
	var names []string
	for name := range t.left {
		names = append(names, name)
	}
	if len(names) > 0 {
		t.fail("tensor %.80q is none of this layer", t.prefix+slices.Min(names))
	}
}

func (t *tensors[T]) has(name string) bool {
	_, ok := t.left[name]
	return ok
}

func (t *tensors[T]) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// matrix takes a matrix whose rows are a multiple of rows, not zero, and which has so
// many columns; zero stands for any number.
func (t *tensors[T]) matrix(name string, rows, cols int) dense.Matrix[T] {
	x, shape := t.floats(name)
	if t.err != nil {
		return dense.Matrix[T]{}
	}
	switch {
	case len(shape) != 2 || shape[0] == 0 || shape[1] == 0:
		t.fail("tensor %.80q has shape %v, want a matrix that is not empty", t.prefix+name, shape)
	case rows > 0 && shape[0]%rows != 0:
		t.fail("tensor %.80q has shape %v, want a multiple of %d rows, for %d and %d heads", t.prefix+name, shape, rows, t.heads, t.keyHeads)
	case cols > 0 && shape[1] != cols:
		t.fail("tensor %.80q has shape %v, want %d columns, for %d heads of the values", t.prefix+name, shape, cols, t.heads)
	default:
		return dense.Of(shape[0], shape[1], x)
	}
	return dense.Matrix[T]{}
}

// vector takes a vector of n elements.
func (t *tensors[T]) vector(name string, n int) []T {
	x, shape := t.floats(name)
	if t.err == nil && (len(shape) != 1 || shape[0] != n) {
		t.fail("tensor %.80q has shape %v, want [%d]", t.prefix+name, shape, n)
	}
	return x
}

// floats takes the elements and the shape of a tensor.
func (t *tensors[T]) floats(name string) ([]T, []int) {
	tensor, ok := t.left[name]
	if !ok {
		t.fail("tensor %.80q is missing", t.prefix+name)
		return nil, nil
	}
	delete(t.left, name)
	x, err := safetensors.Floats[T](tensor)
	if err != nil {
		t.fail("tensor %.80q: %w", t.prefix+name, err)
	}
	return x, tensor.Shape
}
