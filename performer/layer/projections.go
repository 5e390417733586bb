package layer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Widths are the dimensions of the projections of a [MultiHead].
type Widths struct {
	// Input is the dimension E of the rows that become queries. Keys is the dimension of rows that
	// become keys, and Values of rows that become values. A zero Keys or Values means Input.
	Input, Keys, Values int

	// Heads is the number of heads of queries, KeyHeads of keys; a zero KeyHeads means Heads.
	Heads, KeyHeads int

	// HeadDim is the dimension of queries and keys of a head, HeadValues that of values. A zero
	// HeadDim means Input/Heads, which must be an integer. A zero HeadValues means HeadDim.
	HeadDim, HeadValues int

	// Output is the dimension of the output of the layer; zero means Input.
	Output int

	// NoOutput omits the output projection: the layer returns the outputs of all heads side by
	// side. Bias adds biases to all projections.
	NoOutput, Bias bool
}

// Draw draws random projections from the distributions of PyTorch's nn.MultiheadAttention. Elements
// of an out×in matrix of queries, keys or values are uniform in ±√(6/(in + out)) [Glorot & Bengio
// 2010]; if all three matrices have one shape, 3·out stands in place of out. Elements of the matrix
// W_O of outputs of n columns are uniform in ±1/√n, as in PyTorch's nn.Linear. Biases are zero.
//
// Draw draws the matrices of queries, keys, values and outputs one after another, in float64, and
// rounds each element to T once. Draw returns an error if a field of the Widths w is negative, does
// not fit the other fields or is too large for memory, or if the argument src is nil.
func Draw[T dense.Float](w Widths, src rand.Source) (Projections[T], error) {
	var p Projections[T]
	w, err := resolved[T](w)
	if err != nil {
		return p, err
	}
	if src == nil {
		return p, errors.New("layer: src is nil")
	}
	rows := [3]int{w.Heads * w.HeadDim, w.KeyHeads * w.HeadDim, w.KeyHeads * w.HeadValues}
	cols := [3]int{w.Input, w.Keys, w.Values}
	together := rows[0] == rows[1] && rows[1] == rows[2] && cols[0] == cols[1] && cols[1] == cols[2]
	rng := rand.New(src)
	for i, dst := range []*dense.Matrix[T]{&p.Query, &p.Key, &p.Value} {
		out := rows[i]
		if together {
			out *= 3
		}
		*dst = uniform[T](rng, rows[i], cols[i], math.Sqrt(6/float64(cols[i]+out)))
	}
	if w.Bias {
		p.QueryBias, p.KeyBias, p.ValueBias = make([]T, rows[0]), make([]T, rows[1]), make([]T, rows[2])
	}
	if w.NoOutput {
		return p, nil
	}
	in := w.Heads * w.HeadValues
	p.Output = uniform[T](rng, w.Output, in, 1/math.Sqrt(float64(in)))
	if w.Bias {
		p.OutputBias = make([]T, w.Output)
	}
	return p, nil
}

// resolved returns the widths with defaults instead of zeros, except a zero Output for NoOutput. It
// returns an error if a width is invalid.
func resolved[T dense.Float](w Widths) (Widths, error) {
	for _, f := range []struct {
		name     string
		value    *int
		fallback int
	}{
		{"Input", &w.Input, 0}, {"Keys", &w.Keys, w.Input}, {"Values", &w.Values, w.Input},
		{"Heads", &w.Heads, 0}, {"KeyHeads", &w.KeyHeads, w.Heads}, {"Output", &w.Output, w.Input},
	} {
		if *f.value = cmp.Or(*f.value, f.fallback); *f.value < 1 {
			return w, fmt.Errorf("layer: Widths.%s = %d, want at least 1", f.name, *f.value)
		}
	}
	if w.HeadDim == 0 {
		if w.Input%w.Heads != 0 {
			return w, fmt.Errorf("layer: Widths.Input = %d, want a multiple of Heads = %d, or HeadDim", w.Input, w.Heads)
		}
		w.HeadDim = w.Input / w.Heads
	}
	w.HeadValues = cmp.Or(w.HeadValues, w.HeadDim)
	if w.HeadDim < 1 || w.HeadValues < 1 {
		return w, fmt.Errorf("layer: Widths.HeadDim = %d, HeadValues = %d, want at least 1", w.HeadDim, w.HeadValues)
	}
	if w.NoOutput {
		w.Output = 0
	}
	for _, f := range []struct {
		names            string
		heads, dim, side int
	}{
		{"Heads = %d, HeadDim = %d, Input = %d", w.Heads, w.HeadDim, w.Input},
		{"KeyHeads = %d, HeadDim = %d, Keys = %d", w.KeyHeads, w.HeadDim, w.Keys},
		{"KeyHeads = %d, HeadValues = %d, Values = %d", w.KeyHeads, w.HeadValues, w.Values},
		{"Heads = %d, HeadValues = %d, Output = %d", w.Heads, w.HeadValues, w.Output},
	} {
		if err := limit.Memory[T](f.heads, f.dim, f.side); err != nil {
			return w, fmt.Errorf("layer: Widths."+f.names+": %w", f.heads, f.dim, f.side, err)
		}
	}
	return w, nil
}

func uniform[T dense.Float](rng *rand.Rand, r, c int, bound float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(bound * (2*rng.Float64() - 1))
	}
	return m
}

func fitHeads[T dense.Float](p Projections[T], heads, keyHeads int) error {
	all := p.all()
	for _, m := range all {
		if err := m.weight.Validate(); err != nil {
			return fmt.Errorf("layer: %s: %w", m.name, err)
		}
		if *m.bias != nil && len(*m.bias) != m.weight.Rows {
			return fmt.Errorf("layer: %sBias has length %d, %s is %d×%d, want an element for each row",
				m.name, len(*m.bias), m.name, m.weight.Rows, m.weight.Cols)
		}
	}
	for _, m := range all[:3] {
		if m.weight.Rows == 0 || m.weight.Cols == 0 {
			return fmt.Errorf("layer: %s is %d×%d, want at least 1×1", m.name, m.weight.Rows, m.weight.Cols)
		}
	}
	if (p.QueryBias == nil) != (p.KeyBias == nil) || (p.KeyBias == nil) != (p.ValueBias == nil) {
		return fmt.Errorf("layer: QueryBias, KeyBias and ValueBias have lengths %d, %d and %d, want all or none",
			len(p.QueryBias), len(p.KeyBias), len(p.ValueBias))
	}
	if p.Query.Rows%heads != 0 || p.Key.Rows%keyHeads != 0 || p.Query.Rows/heads != p.Key.Rows/keyHeads {
		return fmt.Errorf("layer: Query is %d×%d, Key is %d×%d, want heads of one dimension, %d and %d of them",
			p.Query.Rows, p.Query.Cols, p.Key.Rows, p.Key.Cols, heads, keyHeads)
	}
	if p.Value.Rows%keyHeads != 0 {
		return fmt.Errorf("layer: Value is %d×%d, want rows that %d heads can share", p.Value.Rows, p.Value.Cols, keyHeads)
	}
	if width := p.Value.Rows / keyHeads * heads; p.Output.Rows > 0 && p.Output.Cols != width {
		return fmt.Errorf("layer: Output is %d×%d, Value is %d×%d, want %d columns for %d heads",
			p.Output.Rows, p.Output.Cols, p.Value.Rows, p.Value.Cols, width, heads)
	}
	d := p.Query.Rows / heads
	for _, g := range []struct {
		name, of string
		gain     []T
		rows     int
	}{{"QueryNorm", "Query", p.QueryNorm, p.Query.Rows}, {"KeyNorm", "Key", p.KeyNorm, p.Key.Rows}} {
		if n := len(g.gain); g.gain != nil && n != d && n != g.rows {
			return fmt.Errorf("layer: %s has length %d, want %d, the dimension of a head, or %d, the rows of %s", g.name, n, d, g.rows, g.of)
		}
	}
	return nil
}

type projection[T dense.Float] struct {
	name   string
	weight *dense.Matrix[T]
	bias   *[]T
}

func (p *Projections[T]) all() [4]projection[T] {
	return [4]projection[T]{
		{"Query", &p.Query, &p.QueryBias}, {"Key", &p.Key, &p.KeyBias},
		{"Value", &p.Value, &p.ValueBias}, {"Output", &p.Output, &p.OutputBias},
	}
}

// Parameter is a learned matrix with a name; a learned vector is a Parameter of one row.
type Parameter[T dense.Float] struct {
	Name  string
	Value dense.Matrix[T]
}

// Parameters returns views of the weights, biases and gains of the Projections p, in a fixed order:
//
//	q_proj_weight, q_proj_bias, k_proj_weight, k_proj_bias, v_proj_weight, v_proj_bias,
//	out_proj.weight, out_proj.bias, q_norm.weight, k_norm.weight
//
// Parameters omits weights, biases and gains that the receiver p does not have. If the receiver p
// comes from [MultiHead.Projections], changes of the views, by an optimiser for example, change the
// layer. If the receiver p holds gradients of [MultiHead.Backward], element i of the result of
// Parameters is the gradient with respect to element i of the Parameters of the layer.
func (p Projections[T]) Parameters() []Parameter[T] {
	var parameters []Parameter[T]
	weights := append(separateWeights[:], outProjWeight)
	biases := append(separateBiases[:], outProjBias)
	for i, m := range p.all() {
		if m.weight.Rows > 0 {
			parameters = append(parameters, Parameter[T]{weights[i], *m.weight})
		}
		if *m.bias != nil {
			parameters = append(parameters, Parameter[T]{biases[i], dense.Of(1, len(*m.bias), *m.bias)})
		}
	}
	for i, gain := range [2][]T{p.QueryNorm, p.KeyNorm} {
		if gain != nil {
			parameters = append(parameters, Parameter[T]{normWeights[i], dense.Of(1, len(gain), gain)})
		}
	}
	return parameters
}
