package layer_test

import (
	"bytes"
	"fmt"
	"log"
	"math"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// A layer whose three projections are the identity, with a bias on V.
func ExampleNew() {
	w := dense.Of(1, 1, []float64{1})
	attention, err := performer.NewBatch[float64](1, 1, performer.Exact[float64]{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := layer.New(layer.Projections[float64]{
		Query: w, Key: w, Value: w,
		QueryBias: []float64{0}, KeyBias: []float64{0}, ValueBias: []float64{10},
	}, attention)
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
	attention, err := performer.NewBatch[float32](2, 2, performer.Exact[float32]{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := layer.New(p, attention)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := l.Write(&file, "encoder.self_attn."); err != nil {
		log.Fatal(err)
	}
	again, err := layer.Read(&file, "encoder.self_attn.", attention)
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
