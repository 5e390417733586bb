package performer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/limit"
	"github.com/seed-feabd252/randfeat/rff"
)

// Widths are the dimensions of the projections of a [MultiHead].
type Widths struct {
	// Input is the dimension E of the rows that queries are made from. Keys and Values
	// are those of rows that keys and values are made from; zero means Input.
	Input, Keys, Values int

	// Heads is the number H of heads of queries; KeyHeads that of keys and values, where
	// zero means Heads.
	Heads, KeyHeads int

	// HeadDim is the dimension d of a query and a key; zero means Input/Heads, which has
	// to be a whole number then. HeadValues is the dimension dv of a value; zero
	// means HeadDim.
	HeadDim, HeadValues int

	// Output is that of the output; zero means Input.
	Output int

	// NoOutput leaves out W_O: the output has the dimension H·dv of all heads. Bias adds
	// biases.
	NoOutput, Bias bool
}

// RandomProjections draws projections as PyTorch initialises nn.MultiheadAttention: W_Q,
// W_K and W_V by Xavier's law [Glorot & Bengio 2010], uniform in ±√(6/(in + out)),
// where the three are one matrix of 3E outputs if they have one shape; W_O, as in
// nn.Linear, uniform in ±1/√in; biases are zero.
//
// It draws the elements of W_Q, W_K, W_V and W_O in this order, in float64, and
// rounds once. An error names a width that is negative, does not fit the others or is too
// large for memory, or a src that is nil.
func RandomProjections[T dense.Float](w Widths, src rand.Source) (Projections[T], error) {
	var p Projections[T]
	w, err := resolved[T](w)
	if err != nil {
		return p, err
	}
	if src == nil {
		return p, errors.New("performer: src is nil")
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

// resolved returns the widths without zeros, but for the Output that there is not, or an
// error.
func resolved[T dense.Float](w Widths) (Widths, error) {
	for _, f := range []struct {
		name     string
		value    *int
		fallback int
	}{
		{"Input", &w.Input, 0}, {"Keys", &w.Keys, w.Input}, {"Values", &w.Values, w.Input},
		{"Heads", &w.Heads, 0}, {"KeyHeads", &w.KeyHeads, w.Heads}, {"Output", &w.Output, w.Input},
	} {
		if *f.value == 0 {
			*f.value = f.fallback
		}
		if *f.value < 1 {
			return w, fmt.Errorf("performer: Widths.%s = %d, want at least 1", f.name, *f.value)
		}
	}
	if w.HeadDim == 0 {
		if w.Input%w.Heads != 0 {
			return w, fmt.Errorf("performer: Widths.Input = %d, want a multiple of Heads = %d, or HeadDim", w.Input, w.Heads)
		}
		w.HeadDim = w.Input / w.Heads
	}
	if w.HeadValues == 0 {
		w.HeadValues = w.HeadDim
	}
	if w.HeadDim < 1 || w.HeadValues < 1 {
		return w, fmt.Errorf("performer: Widths.HeadDim = %d, HeadValues = %d, want at least 1", w.HeadDim, w.HeadValues)
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
			return w, fmt.Errorf("performer: Widths."+f.names+": %w", f.heads, f.dim, f.side, err)
		}
	}
	return w, nil
}

// uniform returns an r×c matrix of numbers that are uniform in ±bound.
func uniform[T dense.Float](rng *rand.Rand, r, c int, bound float64) dense.Matrix[T] {
	m := dense.New[T](r, c)
	for i := range m.Data {
		m.Data[i] = T(bound * (2*rng.Float64() - 1))
	}
	return m
}

// NewLinearSelfAttention returns the single-head layer of linear attention with the
// features elu+1 [Katharopoulos et al. 2020], bidirectional and normalised, that takes
// rows of dimension in to rows of dimension out, with biases or without:
//
//	Q, K, V = x·W_Qᵀ + b_Q, x·W_Kᵀ + b_K, x·W_Vᵀ + b_V  (out each)
//	out_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / φ(q_i)ᵀ Σ_j φ(k_j)
//
// Weights and biases are drawn as those of PyTorch's nn.Linear are, uniform in ±1/√in:
// W_Q, b_Q, W_K, b_K, W_V, b_V in this order, in float64, and rounded once. The
// same layer with given weights is [NewMultiHead] with one head and no Output. It returns
// an error if in or out is below 1, if out×in weights take more memory than the machine
// has, or if src is nil.
func NewLinearSelfAttention[T dense.Float](in, out int, bias bool, src rand.Source) (*MultiHead[T], error) {
	if in < 1 || out < 1 {
		return nil, fmt.Errorf("performer: in = %d, out = %d, want at least 1", in, out)
	}
	if err := limit.Memory[T](in, out); err != nil {
		return nil, fmt.Errorf("performer: in = %d, out = %d: %w", in, out, err)
	}
	if src == nil {
		return nil, errors.New("performer: src is nil")
	}
	var p Projections[T]
	rng, bound := rand.New(src), 1/math.Sqrt(float64(in))
	for _, f := range []struct {
		weight *dense.Matrix[T]
		bias   *[]T
	}{{&p.Query, &p.QueryBias}, {&p.Key, &p.KeyBias}, {&p.Value, &p.ValueBias}} {
		*f.weight = uniform[T](rng, out, in, bound)
		if bias {
			*f.bias = uniform[T](rng, 1, out, bound).Data
		}
	}
	phi, err := rff.ELU[T](out)
	if err != nil {
		return nil, err
	}
	attention, err := New(Features[T]{Query: phi, Key: phi}, Options{})
	if err != nil {
		return nil, err
	}
	return NewMultiHead[T](p, 1, 1, attention)
}

// fit returns an error unless the projections fit together for so many heads.
func (p Projections[T]) fit(heads, keyHeads int) error {
	parts := p.parts()
	for _, m := range parts {
		if *m.bias != nil && len(*m.bias) != m.weight.Rows {
			return fmt.Errorf("performer: %sBias has length %d, %s is %d×%d, want an element for each row",
				m.name, len(*m.bias), m.name, m.weight.Rows, m.weight.Cols)
		}
	}
	for _, m := range parts[:3] {
		if m.weight.Rows == 0 || m.weight.Cols == 0 {
			return fmt.Errorf("performer: %s is %d×%d, want at least 1×1", m.name, m.weight.Rows, m.weight.Cols)
		}
	}
	if (p.QueryBias == nil) != (p.KeyBias == nil) || (p.KeyBias == nil) != (p.ValueBias == nil) {
		return fmt.Errorf("performer: QueryBias, KeyBias and ValueBias have lengths %d, %d and %d, want all or none",
			len(p.QueryBias), len(p.KeyBias), len(p.ValueBias))
	}
	if p.Query.Rows%heads != 0 || p.Key.Rows%keyHeads != 0 || p.Query.Rows/heads != p.Key.Rows/keyHeads {
		return fmt.Errorf("performer: Query is %d×%d, Key is %d×%d, want heads of one dimension, %d and %d of them",
			p.Query.Rows, p.Query.Cols, p.Key.Rows, p.Key.Cols, heads, keyHeads)
	}
	if p.Value.Rows%keyHeads != 0 {
		return fmt.Errorf("performer: Value is %d×%d, want rows that %d heads can share", p.Value.Rows, p.Value.Cols, keyHeads)
	}
	if width := p.Value.Rows / keyHeads * heads; p.Output.Rows > 0 && p.Output.Cols != width {
		return fmt.Errorf("performer: Output is %d×%d, Value is %d×%d, want %d columns for %d heads",
			p.Output.Rows, p.Output.Cols, p.Value.Rows, p.Value.Cols, width, heads)
	}
	return nil
}

// projection is one of the four.
type projection[T dense.Float] struct {
	name   string
	weight *dense.Matrix[T]
	bias   *[]T
}

// parts returns the four projections.
func (p *Projections[T]) parts() [4]projection[T] {
	return [4]projection[T]{
		{"Query", &p.Query, &p.QueryBias}, {"Key", &p.Key, &p.KeyBias},
		{"Value", &p.Value, &p.ValueBias}, {"Output", &p.Output, &p.OutputBias},
	}
}
