// Package quantise compresses vectors to codes of 1 to 8 bits per coordinate, and estimates inner
// products, cosines and squared distances from the codes, each with its standard error.
//
//	q, err := quantise.New[float32](768, quantise.Options{Bits: 4}, rand.NewPCG(1, 2))
//	codes, err := q.Encode(ctx, rows) // n×768, in an eighth of the memory
//	prepared := q.Prepare(nil, query, quantise.Cosine, 0)
//	for _, hit := range codes.Search(make([]quantise.Hit, 10), prepared) { // all rows
//		fmt.Printf("row %d: %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
//	}
//
// New rotates vectors at random, rounds every coordinate to one of 2^bits levels with equal steps,
// and stores a factor by which estimates have no bias [Gao & Long 2024] [Gao et al. 2025]. Learn
// takes a rotation from a sample instead, with more bits for principal directions. Codes, decoded
// vectors, estimates and results of Search have the same bits on every processor. Page
// docs/search.md has all laws, and says which call to take.
//
// # References
//
//   - [Gao & Long 2024] RaBitQ: quantizing high-dimensional vectors with a theoretical error bound
//     for approximate nearest neighbor search. SIGMOD.
//   - [Gao et al. 2025] Practical and asymptotically optimal quantization of high-dimensional
//     vectors in Euclidean space for approximate nearest neighbor search. SIGMOD.
package quantise
