package audit_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

// Attention within 10 %: features for short queries, clusters of keys for long queries.
//
//ci:slow
func ExampleChoose() {
	const tokens, d = 8192, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	k, v := small(rng, tokens, d, 0.5), small(rng, tokens, d, 1)
	for _, size := range []float64{0.5, 5} {
		q := small(rng, tokens, d, size)
		// Without Reproducible, a search on a busy machine may end sooner.
		c, err := audit.Choose(context.Background(), performer.Softmax{}, q, k, v, 0.1, audit.ChooseOptions{Reproducible: true}, src)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Name) // c itself prints times as well
		if !c.Exact {
			fmt.Println(c.Report)
		}
		out := c.Attention.Forward(dense.Matrix[float64]{}, q, k, v)
		fmt.Println(out.Rows, "×", out.Cols)
	}
	// Output:
	// 128 trigonometric features
	// error 9.12 % (95 %: 8.61 … 9.67 %), 9 of 10 rows within 12 %, worst 35 % of 226 rows; plain averages 23 %
	// 8192 × 16
	// 128 clusters of keys with threshold 0.005
	// error 6.85 % (95 %: 5.69 … 8.25 %), 9 of 10 rows within 28 %, worst 99 % of 226 rows; plain averages 100 %
	// 8192 × 16
}
