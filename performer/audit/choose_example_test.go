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

// Attention within 10 % of tokens that are like their neighbours: queries read more blocks of keys
// if they are short.
//
//ci:slow
func ExampleChoose() {
	const tokens, d = 8192, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	k, v := walk(small(rng, tokens, d, 0.5)), small(rng, tokens, d, 1)
	for _, size := range []float64{0.5, 5} {
		q := walk(small(rng, tokens, d, size))
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
	// blocks of keys with threshold 0.016
	// error 9.37 % (95 %: 9.06 … 9.73 %), 9 of 10 rows within 12 %, worst 16 % of 226 rows; plain averages 25 %
	// 8192 × 16
	// blocks of keys with threshold 0.06
	// error 7.33 % (95 %: 6.57 … 8.27 %), 9 of 10 rows within 14 %, worst 28 % of 226 rows; plain averages 98 %
	// 8192 × 16
}

// walk replaces each row but the first by a row near the last one, and returns x.
func walk(x dense.Matrix[float64]) dense.Matrix[float64] {
	for i := 1; i < x.Rows; i++ {
		for j, last := range x.Row(i - 1) {
			x.Row(i)[j] = 0.995*last + 0.1*x.Row(i)[j]
		}
	}
	return x
}
