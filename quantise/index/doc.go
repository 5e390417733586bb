// Package index searches vectors by ids of the user, from codes of package quantise.
//
//	x, err := index.New[string](384, index.Options[float32]{Measure: quantise.Cosine, Bits: 2}, rand.NewPCG(1, 2))
//	err = x.Put(ctx, ids, rows) // len(ids)×384
//	hits, err := x.Search(ctx, query, 10, nil)
//	for _, hit := range hits {
//		fmt.Printf("%s: %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
//	}
//	near, err := x.Within(ctx, query, 0.8, nil) // all cosines of 0.8 or more
//	err = x.Write(file) // and index.Read
//
// An Index reads the codes of all rows in each search. Page docs/search.md compares such scans with
// graphs.
package index
