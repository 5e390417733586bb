package performer_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// Attention to 5 %, and exact attention where nothing cheaper is that good.
func ExampleWithin() {
	const tokens, d = 8192, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	k, v := small(rng, tokens, d, 0.5), small(rng, tokens, d, 1)
	for _, size := range []float64{0.5, 5} {
		q := small(rng, tokens, d, size)
		c, err := performer.Within(performer.Exact[float64]{}, 0.05, q, k, v, performer.WithinOptions[float64]{}, src)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Name) // c itself prints times as well
		if !c.Exact {
			fmt.Println(c.Audited)
		}
		out := c.Form.Forward(dense.Matrix[float64]{}, q, k, v)
		fmt.Println(out.Rows, "×", out.Cols)
	}
	// Output:
	// 128 landmarks
	// error 3.57 % (95 %: 3.28 … 3.99 %), 9 of 10 rows within 5 %, worst 8.5 % of 96 rows; plain averages 24 %
	// 8192 × 16
	// exact attention
	// 8192 × 16
}
