package index_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/quantise/index"
)

// Rows are added, replaced and deleted by ids, and found from codes of two bits per number.
func Example() {
	const n, d = 2000, 64
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 2))
	rows, ids := dense.New[float32](n, d), make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("page %d", i)
		for j := range d { // large in few directions, as embeddings are
			rows.Set(i, j, float32(rng.NormFloat64()/float64(1+j)))
		}
	}
	x, _ := index.New[string](d, index.Options[float32]{Measure: quantise.Cosine, Bits: 2}, rng)
	_ = x.Add(ctx, ids, rows)
	_ = x.Put(ctx, ids[:1], rows.RowRange(7, 8)) // page 0 is now as page 7
	fmt.Println(x.Delete("page 3", "page 4"), "deleted of", n)

	query := rows.Row(7)
	hits, _ := x.Search(ctx, query, 2, nil)
	for _, hit := range hits {
		fmt.Printf("%s: %.2f ± %.2f\n", hit.ID, hit.Value, hit.StdErr)
	}
	near, _ := x.Within(ctx, query, 0.95, &index.SearchOptions[string, float32]{
		Accept: func(id string) bool { return id != "page 7" },
	})
	for _, hit := range near {
		fmt.Printf("%s: from %.2f to %.2f\n", hit.ID, hit.Low, hit.High)
	}
	// Output:
	// 2 deleted of 2000
	// page 7: 1.00 ± 0.03
	// page 0: 1.00 ± 0.03
	// page 0: from 0.89 to 1.00
	// page 827: from 0.81 to 0.97
}
