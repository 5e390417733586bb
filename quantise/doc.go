// Package quantise compresses vectors to codes of 1 to 8 bits per coordinate, and estimates inner
// products, cosines and squared distances from the codes, each with its standard error. Codes serve
// vector search and caches of keys and values.
//
//	q, err := quantise.New[float32](768, quantise.Options{Bits: 4}, rand.NewPCG(1, 2))
//	codes, err := q.Encode(ctx, rows) // n×768, in an eighth of the memory
//	prepared := q.Prepare(nil, query, quantise.Cosine, 0)
//	for _, hit := range codes.Search(make([]quantise.Hit, 10), prepared) {
//		fmt.Printf("row %d: %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
//	}
//
// # The method
//
// A random rotation R maps a vector x of R^d to y = Rx in R^d', and the unit vector u = y/‖y‖ is
// rounded to a code. For every x the vector u is uniform on the sphere. For this reason one set of
// levels serves all vectors, no levels are learned from data, and the errors have a known law. The
// code stands for a vector s, whose coordinates are levels. The query q is rotated to p = Rq and
// rounded to steps that are much finer than the levels. The estimate of xᵀq is ‖x‖·sᵀp. Norms are stored as float32.
//
// # Schemes
//
// A scheme rounds each coordinate of u to one of 2^bits levels, which are symmetric about 0.
// Schemes differ in the levels and in the numbers that they store beside the codes.
//
//	scheme    levels                                 estimate                   bias  bytes per row
//	RaBitQ    equal steps, the best for d'           divided by sᵀu, stored     none  d'·bits/8 + 12, 8 with 1 bit
//	LloydMax  the best for the law of a coordinate   sᵀp                        some  d'·bits/8 + 4
//	Uniform   equal steps up to the largest |u_i|    sᵀp                        some  d'·bits/8 + 8
//	QJL       signs after as many rotations as bits  divided by E‖u‖₁           none  d'·bits/8 + 4
//
// RaBitQ is the best choice up to 4 bits: its estimates have no bias and rank vectors best.
// LloydMax decodes to the vectors nearest to the rows, and with 8 bits its estimates are the most
// accurate, because their bias is then negligible. Uniform is the usual method of min-max
// quantisation. RaBitQ and QJL have the same codes of 1 bit. RaBitQ divides an estimate by the sᵀu
// of its vector, and QJL by the mean of sᵀu over all vectors. Hence RaBitQ has less variance for
// large cosines. The variance of QJL falls as 1/bits, and the variance of other schemes nearly as
// 1/4^bits.
//
// # Theory
//
// Let q have length 1 and let ρ be the cosine of x and q. The component of p orthogonal to u has a
// uniformly random direction. Hence the estimate of ρ has
//
//	mean     = ρ·A
//	variance = ρ²·(B − A²) + (1−ρ²)·(C − B)/(d'−1),  A = E sᵀu, B = E (sᵀu)², C = E‖s‖²
//
// Theory returns both. A = B = 1 for RaBitQ, and A = 1 for QJL. For a cosine of 0 and d' = 768, the
// standard deviation times √(d'−1) is
//
//	bits      1      2      4       8
//	RaBitQ    0.755  0.367  0.108   0.0093
//	LloydMax  0.481  0.321  0.097   0.0064
//	Uniform   1.019  0.489  0.122   0.0076
//	QJL       0.755  0.534  0.378   0.267
//
// The factor A is 0.637, 0.883, 0.9905, 0.99996 for LloydMax and 1.34, 0.998, 0.999, 0.99994 for
// Uniform. LloydMax computes its levels for u_i² ~ Beta(½, (d'−1)/2), the law of a coordinate of a
// uniform unit vector. The levels of the Gaussian limit differ in low dimensions.
//
// # Centres
//
// Rows often lie near one mean or near centres of clusters, which kmeans.Cluster finds. WithCentres
// returns a quantiser that encodes x − c, where c is the centre nearest to x. The errors of
// estimates are then proportional to ‖x−c‖ instead of ‖x‖. Codes then also store g = (x−c)ᵀc of
// each row. For every t
//
//	xᵀq      = qᵀc + t·g + (x−c)ᵀ(q − tc)
//	‖x − q‖² = ‖x−c‖² + ‖q−c‖² + 2·(1−t)·g − 2·(x−c)ᵀ(q − tc)
//	‖x‖²     = ‖x−c‖² + 2g + ‖c‖²
//
// Only (x−c)ᵀ(q − tc) is estimated. t = qᵀc/‖c‖² makes q − tc shortest: q − tc is at most as long
// as q and as q − c. The law of "Theory" holds for the cosine of x − c and q − tc, times
// ‖x−c‖·‖q−tc‖. If the scheme is biased, only the estimate of (x−c)ᵀ(q − tc) is biased.
//
// The origin is also a centre. Hence ‖x−c‖ ≤ ‖x‖ for all rows, and no choice of centres makes the
// errors larger by law.
//
// SearchOptions.Centres limits a search to the rows of a few centres: the centres nearest to the
// query for distances, and the centres with the largest products or cosines for other measures. The
// search may miss some of the best rows, above all for inner products, where long rows are far from
// their centres. The search always includes the rows whose centre is the origin. If the centres do
// not fit the rows, a search of few centres reads all rows.
//
// BenchmarkCentres measured the benefit for 100,000 rows with d = 256 in 500 clusters, with centres
// and noise of the same size. The table has the root mean square error of cosines with the 100 rows
// nearest to a query, and the recall of the 10 largest products of 20 queries:
//
//	bits  no centres     500 of k-means  the true 500
//	1     0.0405  0.470  0.0305  0.520   0.0233  0.610
//	2     0.0196  0.645  0.0151  0.740   0.0112  0.775
//	4     0.0056  0.880  0.0043  0.930   0.0033  0.945
//	8     0.0005  0.970  0.0004  0.985   0.0003  0.995
//
// k-means merges some of the clusters. A search of 10 true centres had the recall of a search of
// all 500; a search of 10 centres of k-means had a recall from 0.43 to 0.79.
//
// Centres cost 16 bytes per row. One rounded query serves all centres, because codes also store the
// estimate of g: the estimate of (x−c)ᵀ(q − tc) is the estimate of (x−c)ᵀq minus t times the stored
// number. Rounding of the query and of float32 adds errors of about 1e-6·‖x−c‖·(‖q‖ + ‖c‖) with two
// bytes per coordinate, so the codes cannot resolve rows at a distance of a hundred-thousandth of
// their norm.
//
// # Exact rows
//
// Estimates of few bits do not order the best rows correctly. If SearchOptions.Rows is set, Search
// reads some of the rows themselves and returns exact values of the best k rows.
//
// Given the code of a row, the estimate e of a cosine ρ has the error √(1−ρ²)·σ·w. Here σ² =
// (‖s‖²/(sᵀu)² − 1)/(d'−1) is known for the row, and w is a coordinate of a uniformly random
// direction of R^(d'−1), in units of its standard deviation. Let z be a number that w exceeds with
// a probability of at most MissProbability/k. The upper bound of a row is the largest ρ with
// e ≥ ρ − z·σ·√(1−ρ²).
//
// Search reads the k rows with the best estimates. A second pass over the codes finds the rows
// whose upper bound exceeds the worst of the k exact values. Search reads these rows in descending
// order of their bounds, up to 64 at a time, until no bound exceeds the worst exact value of the
// list. Search misses one of the true k rows only if the estimate of this row is more than z
// standard errors too low. Hence the whole list is exact with a probability of at least 1 −
// MissProbability.
//
// z is the number that a normal variate exceeds with the probability MissProbability/k, but at
// least √3. In every dimension the tail of a normal variate beyond √3 is above the tail of w, and
// w² ~ (d'−1)·Beta(½, (d'−2)/2). Each bound also has z standard errors of the rounding of the
// query.
//
// The number of rows that Search reads depends on the codes and the data. BenchmarkRerank counted
// the rows that 20 searches for the 10 largest inner products read on average, with MissProbability
// = 0.01, of 100,000 rows with d = 256. The rows were in 500 clusters (centres and noise of the
// same size) or in none. All lists were exact.
//
//	bits  500 clusters  no clusters
//	1              163        14318
//	2               82          724
//	4               26           58
//	8               11           11
//
// # Rotations
//
// The laws hold exactly for every pair of vectors if the rotation is uniformly random (Haar). New
// draws a hadamard.Rotation with three factors, which costs O(d'·log d') instead of d². Samples of
// 20,000 such rotations at d = 64, 128 and 768 agreed with every law within 4 standard errors for
// vectors without large coordinates. The estimates of RaBitQ and QJL also agreed with their laws
// for vectors of one or two non-zero coordinates. For these vectors and 4 bits at d = 64, 128 and
// 768, the variance of estimates of LloydMax was 2.0, 1.04 and 1.03 times the variance that its
// formula predicts, and that of Uniform 2.0, 1.25 and 1.04 times. The means of their estimates
// differed from the formulas by less than 1 %. At d' = 16 the variances of estimates were up to 2.7
// times the predicted variances. NewRotated takes dense rotations.
//
// # Files
//
// WriteTo writes the seed of the rotations, and then parts of about 4 MiB with a checksum each. If
// a file is cut off or damaged, Read and View keep the parts before the damage, and the error names
// the first missing row. View uses the codes in place, for instance in a mapped file.
//
// # Speed
//
// A search reads all codes once, and multiplies them as integers by the rounded query. The query has
// one byte per coordinate for codes of 1 and 2 bits, and two bytes for others. LloydMax with 2, 4 and
// 8 bits looks up each level as two bytes first, and takes two bytes of the query. AVX-512, AVX2 and
// NEON have kernels for all of these products. Rows of more than 65536 coordinates of 8 bits (32768
// of any number of bits for LloydMax) are multiplied in pure Go.
//
// A search of many queries multiplies each row by several queries at a time. BenchmarkBatch compared
// 64 passes with one pass of 64 queries over 200,000 rows with d = 256, on two shared cores of an AMD
// EPYC (Zen 4). One pass was faster by the factors
//
//	bits   1           2           4           8
//	times  1.6 to 2.0  3.0 to 3.3  1.9 to 6.4  5.4 to 8.2
//
// The rounded query consists of multiples of p_max/127 or p_max/32639, where p_max is the largest
// coordinate of p. StdErr contains the error of the rounding. For queries without large coordinates
// this error is about 0.012, 0.022, 0.0005 and 0.005 of the standard error of a cosine of 0 with 1,
// 2, 4 and 8 bits. It is proportional to p_max·√d', and does not fall with the cosine.
//
// # Processors
//
// With the rotations of New, the codes, decoded vectors, estimates and results of Search have the
// same bits on every processor and in every tier of instructions. So has the StdErr of RaBitQ. Sums
// have a fixed order, and no multiplication is fused with an addition.
//
// Theory and the StdErr of other schemes evaluate integrals of elementary functions, whose
// last digits differ between processors. Levels are rounded to 24 binary digits, and levels with
// equal steps to 8. A level differs between processors only if it is within about 1e-13 of a tie.
//
// # References
//
//   - [Gao & Long 2024] J. Gao, C. Long. RaBitQ: quantizing high-dimensional vectors with a
//     theoretical error bound for approximate nearest neighbor search. SIGMOD 2024.
//   - [Gao et al. 2025] J. Gao, Y. Gou, Y. Xu, Y. Yang, C. Long, R. C.-W. Wong. Practical and
//     asymptotically optimal quantization of high-dimensional vectors in Euclidean space for
//     approximate nearest neighbor search. SIGMOD 2025.
//   - [Max 1960] J. Max. Quantizing for minimum distortion. IRE Transactions on Information Theory
//     6(1).
//   - [Zandieh et al. 2024] A. Zandieh, M. Daliri, I. Han. QJL: 1-bit quantized JL transform for KV
//     cache quantization with zero overhead. arXiv:2406.03482.
package quantise
