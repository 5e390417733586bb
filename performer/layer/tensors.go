package layer

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// tensors are the tensors of a layer by their names without the prefix. The methods that read a
// tensor remove it from left. After the first error, err does not change.
type tensors[T dense.Float] struct {
	prefix          string
	heads, keyHeads int
	left            map[string]safetensors.Tensor
	types           map[safetensors.DType]bool // of matrices
	err             error
}

func (t *tensors[T]) projections() Projections[T] {
	var p Projections[T]
	switch {
	case t.has(inProjWeight):
		t.split(&p, t.matrix(inProjWeight, t.heads+2*t.keyHeads, 0))
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
			biases[i] = t.named(name)
		}
		t.takeBiases(&p, biases)
		output := modelOutputs[0]
		if t.has(modelOutputs[1] + "weight") {
			output = modelOutputs[1]
		}
		t.takeOutput(&p, output+"weight", t.named(output+"bias"), false)
		return p
	case t.has(attnWeight):
		byInputs := t.takeTogether(&p, attnWeight)
		if t.has(attnBias) {
			t.takeBias(&p, attnBias)
		}
		t.takeOutput(&p, projWeight, t.named(projBias), byInputs)
		for _, mask := range attnMasks {
			delete(t.left, mask)
		}
		return p
	case slices.ContainsFunc(separateWeights[:], t.has):
		t.take3(&p, separateWeights)
	default:
		t.fail("tensor %.80q is missing, or %.80q, or %.80q, or %.80q",
			t.prefix+inProjWeight, t.prefix+separateWeights[0], t.prefix+modelWeights[0], t.prefix+attnWeight)
		return p
	}
	if t.has(inProjBias) {
		t.takeBias(&p, inProjBias)
	}
	t.takeOutput(&p, outProjWeight, t.named(outProjBias), false)
	return p
}

// takeTogether reads W_Q, W_K and W_V from one tensor. They are below one another, or side by side
// with rows that belong to inputs, and then byInputs is true. The shapes E·f×E and E×E·f differ,
// because f ≥ 1 + 2/H.
func (t *tensors[T]) takeTogether(p *Projections[T], name string) (byInputs bool) {
	all := t.matrix(name, 0, 0)
	if t.err != nil {
		return false
	}
	parts := t.heads + 2*t.keyHeads
	fits := func(out, in int) bool { return out%parts == 0 && out/parts*t.heads == in }
	if byInputs = fits(all.Cols, all.Rows); byInputs {
		all = dense.Transpose(dense.Matrix[T]{}, all)
	} else if !fits(all.Rows, all.Cols) {
		t.fail("tensor %.80q is %d×%d, want E×N or N×E where N = E·%d/%d, for %d and %d heads",
			t.prefix+name, all.Rows, all.Cols, parts, t.heads, t.heads, t.keyHeads)
		return false
	}
	t.split(p, all)
	return byInputs
}

func (t *tensors[T]) split(p *Projections[T], all dense.Matrix[T]) {
	d := all.Rows / (t.heads + 2*t.keyHeads)
	q, k := t.heads*d, (t.heads+t.keyHeads)*d
	p.Query, p.Key, p.Value = all.RowRange(0, q), all.RowRange(q, k), all.RowRange(k, all.Rows)
}

func (t *tensors[T]) takeBias(p *Projections[T], name string) {
	q, k := p.Query.Rows, p.Query.Rows+p.Key.Rows
	if all := t.vector(name, k+p.Value.Rows); t.err == nil {
		p.QueryBias, p.KeyBias, p.ValueBias = all[:q:q], all[q:k:k], all[k:]
	}
}

// takeOutput reads W_O, whose rows belong to inputs if byInputs is set, and b_O unless bias is
// empty.
func (t *tensors[T]) takeOutput(p *Projections[T], weight, bias string, byInputs bool) {
	width := p.Value.Rows / t.keyHeads * t.heads
	if byInputs {
		m := t.matrix(weight, 0, 0)
		if t.err == nil && m.Rows != width {
			t.fail("tensor %.80q has shape [%d %d], want %d rows, for %d heads of the values", t.prefix+weight, m.Rows, m.Cols, width, t.heads)
		}
		if t.err != nil {
			return
		}
		p.Output = dense.Transpose(dense.Matrix[T]{}, m)
	} else {
		p.Output = t.matrix(weight, 0, width)
	}
	if bias != "" {
		p.OutputBias = t.vector(bias, p.Output.Rows)
	}
}

// takeBiases reads b_Q, b_K and b_V. A bias with an empty name is zero. Without any name there are
// no biases.
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

func (t *tensors[T]) takeNorms(p *Projections[T], names [2]string) {
	for i, gain := range []*[]T{&p.QueryNorm, &p.KeyNorm} {
		if names[i] == "" || t.err != nil {
			continue
		}
		x, shape := t.floats(names[i])
		d, rows := p.Query.Rows/t.heads, [2]int{p.Query.Rows, p.Key.Rows}[i]
		if t.err == nil && (len(shape) != 1 || shape[0] != d && shape[0] != rows) {
			t.fail("tensor %.80q has shape %v, want [%d] for a head or [%d] for all heads", t.prefix+names[i], shape, d, rows)
		}
		*gain = x
	}
}

func (t *tensors[T]) take3(p *Projections[T], names [3]string) {
	p.Query = t.matrix(names[0], t.heads, 0)
	p.Key = t.matrix(names[1], t.keyHeads, 0)
	if rows := p.Query.Rows / t.heads * t.keyHeads; t.err == nil && p.Key.Rows != rows {
		t.fail("tensor %.80q is %d×%d, want %d rows, for %d heads like those of %.80q",
			t.prefix+names[1], p.Key.Rows, p.Key.Cols, rows, t.keyHeads, t.prefix+names[0])
	}
	p.Value = t.matrix(names[2], t.keyHeads, 0)
}

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

func (t *tensors[T]) named(name string) string {
	if t.has(name) {
		return name
	}
	return ""
}

func (t *tensors[T]) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// matrix reads a matrix that is not empty. The number of its rows is a multiple of rows, and the
// number of its columns is cols; zero rows and cols stand for any number.
func (t *tensors[T]) matrix(name string, rows, cols int) dense.Matrix[T] {
	t.types[t.left[name].DType] = true
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

func (t *tensors[T]) vector(name string, n int) []T {
	x, shape := t.floats(name)
	if t.err == nil && (len(shape) != 1 || shape[0] != n) {
		t.fail("tensor %.80q has shape %v, want [%d]", t.prefix+name, shape, n)
	}
	return x
}

// floats reads the elements and the shape of a tensor, and removes the tensor from left.
func (t *tensors[T]) floats(name string) ([]T, []int) {
	tensor, ok := t.left[name]
	if !ok {
		t.fail("tensor %.80q is missing", t.prefix+name)
		return nil, nil
	}
	delete(t.left, name)
	switch tensor.DType {
	case safetensors.F64, safetensors.F32, safetensors.F16, safetensors.BF16:
	default: // weights of fewer bits have scales, in tensors of other names
		t.fail("tensor %.80q: dtype %s, want F64, F32, F16 or BF16", t.prefix+name, tensor.DType)
		return nil, nil
	}
	x, err := safetensors.Floats[T](tensor)
	if err != nil {
		t.fail("tensor %.80q: %w", t.prefix+name, err)
	}
	return x, tensor.Shape
}
