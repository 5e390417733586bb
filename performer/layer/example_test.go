package layer_test

import (
	"bytes"
	"fmt"
	"log"
	"math"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
	"github.com/seed-feabd252/randfeat/safetensors"
)

// A layer whose three projections are the identity, with a bias on V.
func ExampleNew() {
	w := dense.Of(1, 1, []float64{1})
	softmax, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	attention, err := performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, softmax)
	if err != nil {
		log.Fatal(err)
	}
	l, err := layer.New(layer.Projections[float64]{
		Query: w, Key: w, Value: w,
		QueryBias: []float64{0}, KeyBias: []float64{0}, ValueBias: []float64{10},
	}, attention, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(2, 1, []float64{0, math.Log(3)})
	fmt.Printf("%.4f\n", l.Forward(dense.Matrix[float64]{}, x, performer.Sequences{}).Data)
	// Output:
	// [10.5493 10.8457]
}

// A layer with random weights, written and read.
func ExampleMultiHead() {
	p, err := layer.Draw[float32](layer.Widths{Input: 8, Heads: 2, Bias: true}, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	softmax, err := performer.NewExact[float32](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	attention, err := performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, softmax)
	if err != nil {
		log.Fatal(err)
	}
	l, err := layer.New(p, attention, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := l.Write(&file, "encoder.self_attn."); err != nil {
		log.Fatal(err)
	}
	tensors, err := safetensors.Read(&file) // once for all layers in the file
	if err != nil {
		log.Fatal(err)
	}
	again, err := layer.Read(tensors, "encoder.self_attn.", attention, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, parameter := range again.Projections().Parameters() {
		fmt.Println(parameter.Name, parameter.Value.Rows, parameter.Value.Cols)
	}
	// Output:
	// q_proj_weight 8 8
	// q_proj_bias 1 8
	// k_proj_weight 8 8
	// k_proj_bias 1 8
	// v_proj_weight 8 8
	// v_proj_bias 1 8
	// out_proj.weight 8 8
	// out_proj.bias 1 8
}

// The first layer of a model with names of its own, those of BERT.
func ExampleReadNamed() {
	f := &safetensors.File{Tensors: map[string]safetensors.Tensor{}} // as from safetensors.Read
	for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
		f.Tensors["encoder.layer.0.attention."+name+".weight"], _ = safetensors.FromFloats([]int{2, 2}, []float32{1, 0, 0, 1})
	}
	softmax, err := performer.NewExact[float32](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	attention, err := performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, softmax)
	if err != nil {
		log.Fatal(err)
	}
	names := map[string]string{
		"q_proj_weight": "self.query.weight", "k_proj_weight": "self.key.weight",
		"v_proj_weight": "self.value.weight", "out_proj.weight": "output.dense.weight",
	}
	l, err := layer.ReadNamed(f, func(parameter string) string {
		if name, ok := names[parameter]; ok {
			return "encoder.layer.0.attention." + name
		}
		return "" // no biases
	}, attention, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(l.Projections().Parameters()), "matrices")
	// Output:
	// 4 matrices
}

// A transformer block whose four heads of queries share two of keys and values decodes token by
// token: the rows are those of the whole sequence.
func ExampleMultiHead_Step() {
	src := exprand.NewSource(1)
	softmax, err := performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})
	if err != nil {
		log.Fatal(err)
	}
	heads, _ := performer.NewBatch[float64](performer.BatchOptions{Heads: 4, KeyHeads: 2}, softmax)
	p, _ := layer.Draw[float64](layer.Widths{Input: 8, Heads: 4, KeyHeads: 2}, src)
	mlp, _ := layer.Draw[float64](layer.Widths{Input: 8, Heads: 1, HeadDim: 32}, src)
	attention, _ := layer.New(p, heads, layer.Options{})
	block := func(x, attended dense.Matrix[float64]) dense.Matrix[float64] {
		var y, up, down mat.Dense
		y.Add(gonum.ToMat(x), gonum.ToMat(attended))
		up.Mul(&y, gonum.ToMat(mlp.Query).T())
		up.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, &up)
		down.Mul(&up, gonum.ToMat(mlp.Output).T())
		down.Add(&down, &y)
		return gonum.FromMat[float64](&down)
	}
	x := dense.Of(3, 8, []float64{7: 1, 9: 1, 16: 1, 23: 0.5}) // three tokens
	whole := block(x, attention.Forward(dense.Matrix[float64]{}, x, performer.Sequences{}))
	state, _ := attention.NewState()
	for i := range x.Rows {
		token := x.RowRange(i, i+1)
		out := block(token, attention.Step(dense.Matrix[float64]{}, token, state))
		fmt.Printf("%d: %.4f %.4f\n", i, out.At(0, 0), whole.At(i, 0))
	}
	// Output:
	// 0: 0.0283 0.0283
	// 1: -0.1610 -0.1610
	// 2: 0.9882 0.9882
}

// A layer as in Qwen3: norms of the heads of queries and keys, then rotary positions. A token at a
// time has the rows of the whole sequence, as the number of tokens in the state is its position.
func ExampleOptions() {
	softmax, err := performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})
	if err != nil {
		log.Fatal(err)
	}
	heads, err := performer.NewBatch[float64](performer.BatchOptions{Heads: 4, KeyHeads: 2}, softmax)
	if err != nil {
		log.Fatal(err)
	}
	p, err := layer.Draw[float64](layer.Widths{Input: 8, Heads: 4, KeyHeads: 2}, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	p.QueryNorm, p.KeyNorm = []float64{1, 2}, []float64{2, 1} // gains of the coordinates
	l, err := layer.New(p, heads, layer.Options{Rotary: &layer.RotaryOptions{Base: 1e6}})
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(3, 8, []float64{7: 1, 9: 1, 16: 1, 23: 0.5}) // three tokens
	whole := l.Forward(dense.Matrix[float64]{}, x, performer.Sequences{})
	state, err := l.NewState()
	if err != nil {
		log.Fatal(err)
	}
	for i := range x.Rows {
		out := l.Step(dense.Matrix[float64]{}, x.RowRange(i, i+1), state)
		fmt.Printf("%d: %.4f %.4f\n", i, out.At(0, 0), whole.At(i, 0))
	}
	// Output:
	// 0: 0.0579 0.0579
	// 1: -0.1951 -0.1951
	// 2: 0.0152 0.0152
}
