// Package ard learns a length-scale for each column of the points from the evidence: automatic
// relevance determination [Neal 1996].
//
// The model is that of package ridge with features of scaled points, φ(x) = ψ((x − c)/ℓ), for a map
// ψ of length-scale 1, the means c and a length-scale ℓ_j for each column:
//
//	found, err := ard.Fit(ctx, psi, rows, ard.Options{}, src)
//	mean, sd := found.Model.Predict(x)
//	fmt.Println(found.Scales, found.Relevance)
//
// With fewer than about 10 rows for each column, Fit overfits the evidence: measure the error on
// held-out rows. Fit misses columns that matter only together and at short scales. Columns with
// heavy tails need logarithms or ranks.
//
// docs/regression.md has the gradient, the starts of the search, and the references.
package ard
