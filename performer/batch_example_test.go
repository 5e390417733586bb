package performer_test

import (
	"fmt"
	"log"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// Two sequences, of two tokens and of three, the last of which is padding.
func ExampleBatch() {
	softmax, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, softmax)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.New[float64](5, 1) // all scores are equal
	v := dense.Of(5, 1, []float64{1, 3, 10, 20, math.NaN()})
	out := b.ForwardSequences(dense.Matrix[float64]{}, x, x, v, performer.Sequences{
		Queries: []int{2, 3},
		Valid:   []bool{true, true, true, true, false},
	})
	fmt.Println(out.Data)
	// Output:
	// [2 2 15 15 15]
}

// One query after three keys that are in a cache: it sees all four.
func ExampleSequences_past() {
	causal, err := performer.NewExact[float64](performer.ExactOptions{Softmax: performer.Softmax{Causal: true}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := performer.NewBatch[float64](performer.BatchOptions{Heads: 1}, causal)
	if err != nil {
		log.Fatal(err)
	}
	q, k := dense.New[float64](1, 1), dense.New[float64](4, 1)
	v := dense.Of(4, 1, []float64{1, 2, 3, 6})
	var none dense.Matrix[float64]
	fmt.Println(b.ForwardSequences(none, q, k, v, performer.Sequences{}).Data)
	fmt.Println(b.ForwardSequences(none, q, k, v, performer.Sequences{Past: []int{3}}).Data)
	// Output:
	// [1]
	// [3]
}
