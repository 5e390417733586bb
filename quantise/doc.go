// Package quantise compresses vectors to codes of 1 to 8 bits per coordinate, and estimates inner
// products, cosines and squared distances from the codes, each with its standard error. Codes serve
// vector search, indexes and caches of keys and values.
//
//	q, err := quantise.New[float32](768, quantise.Options{Bits: 4}, rand.NewPCG(1, 2))
//	codes, err := q.Encode(ctx, rows) // n×768, in an eighth of the memory
//	prepared := q.Prepare(nil, query, quantise.Cosine, 0)
//	for _, hit := range codes.Search(make([]quantise.Hit, 10), prepared) { // all rows
//		fmt.Printf("row %d: %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
//	}
//	codes.Estimates(estimates, prepared, neighbours) // the rows that an index asks for
//	err = q.EstimateBytes(estimates, prepared, page) // rows that a store keeps as bytes
//
// # The method
//
// A random rotation R maps a vector x of R^d to y = Rx in R^d', and the unit vector u = y/‖y‖ is
// rounded to a code. For every x the vector u is uniform on the sphere. For this reason one set of
// levels serves all vectors, no levels are learned from data, and the errors have a known law. The
// code stands for a vector s, whose coordinates are levels. The query q is rotated to p = Rq and
// rounded to steps that are much finer than the levels. The estimate of xᵀq is ‖x‖·sᵀp.
//
//	scheme    levels                                 estimate                   bias  bytes per row
//	RaBitQ    equal steps, the best for d'           divided by sᵀu, stored     none  d'·bits/8 + 12, 8 with 1 bit
//	LloydMax  the best for the law of a coordinate   sᵀp                        some  d'·bits/8 + 4
//
// The standard deviation of the estimate of a cosine of 0, times √(d'−1), is 0.755, 0.367, 0.108
// and 0.0093 for RaBitQ with 1, 2, 4 and 8 bits. Page docs/search.md has all laws, and says which
// scheme and which call to take.
//
// Learn takes a rotation from a sample instead: more bits for the principal directions of the sample,
// and fewer for others.
//
// # Processors
//
// Codes, decoded vectors, estimates and results of Search have the same bits on every processor, as
// have StdErr and the bounds of RaBitQ. Theory and the StdErr of LloydMax evaluate integrals, whose
// last digits differ between processors.
//
// # References
//
//   - [Gao & Long 2024] J. Gao, C. Long. RaBitQ: quantizing high-dimensional vectors with a
//     theoretical error bound for approximate nearest neighbor search. SIGMOD 2024.
//   - [Gao et al. 2025] J. Gao, Y. Gou, Y. Xu, Y. Yang, C. Long, R. C.-W. Wong. Practical and
//     asymptotically optimal quantization of high-dimensional vectors in Euclidean space for
//     approximate nearest neighbor search. SIGMOD 2025.
//   - [Max 1960] J. Max. Quantizing for minimum distortion. IRE Trans. Inf. Theory 6(1).
package quantise
