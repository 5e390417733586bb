// Package index searches vectors by ids of the user, from codes of package quantise.
//
//	o := index.Options[float32]{Measure: quantise.Cosine, Bits: 2}
//	x, err := index.New[string](384, o, rand.NewPCG(1, 2))
//	err = x.Put(ctx, ids, rows) // len(ids)×384
//	hits, err := x.Search(ctx, query, 10, nil)
//	for _, hit := range hits {
//		fmt.Printf("%s: %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
//	}
//	near, err := x.Within(ctx, query, 0.8, nil) // cosines of at least 0.8
//	err = x.Write(file) // and index.Read
//
// Each search reads the codes of all rows.
package index
