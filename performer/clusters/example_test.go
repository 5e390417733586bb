package clusters_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// Attention over 3000 tokens, and how far it is from exact attention.
func ExampleNew() {
	q, k, v := tokens[float64](3000, 16, 4, 8, 10)
	exact, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		panic(err)
	}
	form, err := clusters.New[float64](clusters.Options{}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	out := form.Forward(dense.Matrix[float64]{}, q, k, v)
	truth := exact.Forward(dense.Matrix[float64]{}, q, k, v)
	fmt.Println("within 2 %:", relative(out, truth) < 0.02)
	// Output: within 2 %: true
}
