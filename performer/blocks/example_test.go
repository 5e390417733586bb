package blocks_test

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
)

// Attention over 3000 tokens, and how far it is from exact attention.
func ExampleNew() {
	causal := performer.Softmax{Causal: true}
	q, k, v := text[float64](3000, 16, 4, 10)
	exact, err := performer.NewExact[float64](performer.ExactOptions{Softmax: causal})
	if err != nil {
		panic(err)
	}
	attention, err := blocks.New[float64](blocks.Options{Softmax: causal, Threshold: 0.05})
	if err != nil {
		panic(err)
	}
	out := attention.Forward(dense.Matrix[float64]{}, q, k, v)
	truth := exact.Forward(dense.Matrix[float64]{}, q, k, v)
	var off, size float64
	for i, x := range truth.Data {
		off, size = off+(out.Data[i]-x)*(out.Data[i]-x), size+x*x
	}
	fmt.Println("within 10 %:", off < 0.1*0.1*size)
	// Output: within 10 %: true
}
