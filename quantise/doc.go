// Package quantise makes short codes of vectors, 1 to 8 bits per coordinate, and estimates inner
// products, cosines and distances from them, each with its standard error. It is useful on its own:
// for vector search, for caches of keys and values, wherever vectors take too much memory.
//
// # Where to look
//
//   - search among vectors: New, Encode, the method Search of Codes
//   - with filters, many queries, several Codes or exact rows: the method Search of Quantiser
//   - all estimates for a query: Estimates
//   - two codes with each other: Between
//   - the vectors that codes stand for: Decode
//   - which scheme: "Schemes" below, and Theory for your dimension
//   - keep codes in a file: WriteTo, Read; use a mapped file: View
//   - smaller errors where rows lie in clusters, and searches of some clusters: WithCentres
//   - a rotation of your own: NewRotated
//
// For example
//
//	q, err := quantise.New[float32](768, quantise.Options{Bits: 4}, rand.NewPCG(1, 2))
//	codes, err := q.Encode(ctx, rows) // n×768, in an eighth of the memory
//	for _, hit := range codes.Search(make([]quantise.Hit, 10), query, quantise.Cosine) {
//		fmt.Printf("row %d: %.3f ± %.3f\n", hit.ID, hit.Value, hit.StdErr)
//	}
//
// # The method
//
// A vector x of R^d is rotated at random into R^d', y = Rx, and the unit vector u = y/‖y‖ becomes a
// code. The rotation spreads what x has in few coordinates over all of them: whatever x is, u is
// uniform on the sphere. So one set of levels serves all vectors, nothing has to be learned from
// data, and the errors follow a law that is known in advance. The code stands for a vector s, a
// query q is rotated as it is, p = Rq, and the estimate of xᵀq is ‖x‖·sᵀp. Norms are stored as
// float32.
//
// # Schemes
//
// All schemes round each coordinate of u by itself, to 2^bits levels that are symmetric about 0.
// They differ in the levels, and in what they store beside the codes.
//
//	scheme    levels                                 estimate                   bias  bytes per row
//	RaBitQ    equal steps, the best for d'           divided by sᵀu, stored     none  d'·bits/8 + 8
//	LloydMax  the best for the law of a coordinate   as it is                   some  d'·bits/8 + 4
//	Uniform   equal steps up to the largest |u_i|    as it is                   some  d'·bits/8 + 8
//	QJL       signs after as many rotations as bits  divided by E‖u‖₁           none  d'·bits/8 + 4
//
// Up to 4 bits RaBitQ is the one to take: it has no bias, and its estimates rank vectors best. The
// vectors that LloydMax decodes to are nearest to the rows; with 8 bits its estimates are the most
// accurate too, as their bias is gone. Uniform is the usual method and serves to compare. One bit
// of RaBitQ and one bit of QJL have the same codes; division by the sᵀu of the vector itself in
// place of its mean lowers the variance where cosines are large. More rotations help QJL less than
// more levels help the others: its variance falls as 1/bits, theirs nearly as 1/4^bits.
//
// # Theory
//
// Let q have length 1, and let ρ be its cosine with x. The part of p across u points in a uniformly
// random direction, and so the estimate of ρ, with exact moments of the code, has
//
//	mean     = ρ·A
//	variance = ρ²·(B − A²) + (1−ρ²)·(C − B)/(d'−1),  A = E sᵀu, B = E (sᵀu)², C = E‖s‖²
//
// Theory returns both. A = B = 1 for RaBitQ, A = 1 for QJL. The standard deviation of the estimate
// of a cosine of 0, times √(d'−1), is for d' = 768
//
//	bits      1      2      4       8
//	RaBitQ    0.755  0.367  0.108   0.0093
//	LloydMax  0.481  0.321  0.097   0.0064
//	Uniform   1.019  0.489  0.122   0.0076
//	QJL       0.755  0.534  0.378   0.267
//
// and the factors A of the means are 0.637, 0.883, 0.9905, 0.99996 for LloydMax and 1.34, 0.998,
// 0.999, 0.99994 for Uniform. The levels of LloydMax are those for u_i² ~ Beta(½, (d'−1)/2), which
// is the law of a coordinate of a uniform unit vector; its Gaussian limit has other levels in low
// dimensions.
//
// Between two codes of 1 bit the share of signs that differ is an average over orthogonal
// directions, whose variance is known exactly too. With more bits vectors at a small angle are rounded
// alike. The estimate of Between and its StdErr follow from the law of both codes together.
//
// # Centres
//
// Rows often lie about centres c: one mean, or those of clusters, as kmeans.Cluster finds them. WithCentres
// makes a quantiser of x − c, whose codes have errors in proportion to ‖x−c‖ in place of ‖x‖. It stores
// g = (x−c)ᵀc of each row as well. For every t
//
//	xᵀq      = qᵀc + t·g + (x−c)ᵀ(q − tc)
//	‖x − q‖² = ‖x−c‖² + ‖q−c‖² + 2·(1−t)·g − 2·(x−c)ᵀ(q − tc)
//	‖x‖²     = ‖x−c‖² + 2g + ‖c‖²
//
// Only (x−c)ᵀ(q − tc) is estimated. t = qᵀc/‖c‖² makes q − tc shortest: not longer than q, nor than q − c.
// The law is that of "Theory" for the cosine of x − c and q − tc, times ‖x−c‖·‖q−tc‖. StdErr has that
// factor. With biased schemes the bias is that of this product alone.
//
// 0 is a centre as well, for rows that are nearer to it than to others. So ‖x−c‖ ≤ ‖x‖ for all rows, and
// centres never make errors larger by law, whatever they are: those of other data, equal ones, of which
// the first has all rows, or one where no row is.
//
// Rows of a centre lie side by side, and SearchOptions.Centres is the number of centres that a query looks
// at. Those are the nearest ones for distances, and those with the largest products or cosines for the other
// measures. The rows that are left out may be among the best ones, above all for inner products, where long
// rows are far from their centres. Rows whose centre is 0 are always looked at: if centres do not fit
// the rows, a search of few centres is one of all rows.
//
// What centres gain: of 100,000 rows with d = 256 in 500 clusters, centres and noise of the same size, the
// root mean square of the errors of cosines with the 100 rows nearest to a query, and the recall of the 10
// largest products of 20 queries, were
//
//	bits  no centres     500 of k-means  the true 500
//	1     0.0405  0.470  0.0305  0.520   0.0233  0.610
//	2     0.0196  0.645  0.0151  0.740   0.0112  0.775
//	4     0.0056  0.880  0.0043  0.930   0.0033  0.945
//	8     0.0005  0.970  0.0004  0.985   0.0003  0.995
//
// Centres of k-means merge some of the clusters. The rows of 10 centres had the same recall for the true
// centres, and recalls from 0.43 to 0.79 for those of k-means. BenchmarkCentres has these figures.
//
// What centres cost: 12 bytes a row, and for each centre that is looked at the rounding of the query, as
// long as a pass over 100 to 200 rows of d = 256. A search of all 500 centres, with 200 rows each, took two to
// five times as long as one without centres, and one of 10 of them a fifth to two fifths. In float32 rotations round in proportion to ‖q‖ and ‖c‖, 1e-7 of them: of rows at a
// distance of a millionth of their norm nothing is left, as in the rows themselves.
//
// # Searches of a store
//
// The method Search of Quantiser takes what a store has: many queries in one pass over the codes, several Codes
// (segments) of one quantiser, sets of rows that count or do not, and a function that is asked about
// the few rows that would be among the best. SearchOptions has them, and its zero value is the plain
// search. Results are those of a search of one query among all rows that count, to the bit.
//
// # Exact rows
//
// Estimates of few bits put the right rows in the wrong order. With SearchOptions.Rows a search reads
// the rows themselves, and returns exact values of the best k. The law says how many it has to read.
//
// Given the code of a row, the estimate e of a cosine ρ errs by √(1−ρ²)·σ·w. Here σ² =
// (‖s‖²/(sᵀu)² − 1)/(d'−1) is known for the row, and w is a coordinate of a uniformly random direction
// of R^(d'−1), in units of its standard deviation. Let z be a number that w exceeds with the probability
// MissProbability/k at most. The largest ρ with e ≥ ρ − z·σ·√(1−ρ²) is the upper bound of the row.
//
// Search reads the k rows with the best estimates, and goes through the codes once more for rows of
// which the upper bound is above the worst of these k. It reads those in the order of their bounds, up to
// 64 at a time, until no bound is above the worst exact value of the list. One of the true k rows is
// left out only if its estimate is more than z standard errors too low, and so the whole list is exact
// with a probability of at least 1 − MissProbability. Rows with nearly equal values are all read.
//
// z is that of a normal variate, or √3 if that is more: from √3 on the tail of a normal variate is
// above that of w, whose square has the law (d'−1)·Beta(½, (d'−2)/2), in every dimension. What the
// rounding of the query adds comes on top of every bound, as z standard errors of its own. The law is
// that of uniformly random rotations; "Rotations" below says how near to those rotations of New are.
//
// How many rows are read follows from the codes and from the data. Of 100,000 rows with d = 256, in 500
// clusters (centres and noise of the same size) or in none, 20 searches for the 10 largest inner
// products looked on average at
//
//	bits  500 clusters  no clusters
//	1              163        14318
//	2               82          724
//	4               26           58
//	8               11           11
//
// rows with MissProbability = 0.01, and all lists were exact. BenchmarkRerank counts.
//
// # Rotations
//
// The laws are exact for a uniformly random (Haar) rotation, over which they hold for every pair of
// vectors. New takes hadamard.Rotation with three factors, which costs O(d'·log d') where a dense
// rotation costs d². Over 20,000 of these, at d = 64, 128 and 768, the estimates for vectors
// without large coordinates stayed within 4 standard errors of every law, and so did those of
// RaBitQ and QJL for vectors of one or two coordinates. The estimates of LloydMax and Uniform for
// such vectors did not: with 4 bits the variance was 2.0, 1.04 and 1.03 times that of the law for
// LloydMax, and 2.0, 1.25 and 1.04 times for Uniform, and means differed by less than 1 %. At d' =
// 16 variances were up to 2.7 times as large. NewRotated takes dense rotations.
//
// # Files
//
// WriteTo writes parts of about 4 MiB, each with a checksum. Read and View take them one after the
// other: of a file that is cut off or damaged the parts before remain, and the error tells the first row
// that is missing. View uses codes where they are, in a mapped file for instance. The quantiser comes
// first in a file, as the seed of its rotations.
//
// # Speed
//
// Codes of 1 bit, and those of QJL with any number of bits, are compared with six bits of each
// coordinate of the query, by AND and population counts. Those of 4 and 8 bits of RaBitQ and Uniform, whose steps are equal, are multiplied as they
// are by the two bytes of each coordinate of the query. For LloydMax with 8 bits the two bytes of each
// level are looked up in registers first, which takes about twice as long, and without AVX-512 VBMI
// longer. The levels of other codes are looked up as float32. AVX-512, AVX2 and NEON have kernels for
// all of these, and products of bytes are fastest with AVX-512 VNNI and the dot products of ASIMD;
// they are left to pure Go in rows of more than 65536 coordinates of 8 bits, or 32768 for LloydMax. A
// search reads all codes once.
//
// Many queries in one pass take products of several at a time. Without centres that is also done with
// codes of 2 bits and equal steps, whose products of bytes say which rows need the float32 sums, and
// with codes of 1 bit where there is AVX-512 VNNI. Of 200,000 rows with d = 256, on two cores of an AMD
// EPYC (Zen 4) that other programs used as well, 64 passes took so many times as long as one pass with
// 64 queries (BenchmarkBatch, the fastest of interleaved runs; the larger, the busier the third cache):
//
//	bits   1           2           4           8
//	times  1.6 to 2.0  3.0 to 3.3  1.9 to 6.4  5.4 to 8.2
//
// Two bytes are what a query is rounded to in products of bytes: to multiples of the 32639th part of
// its largest coordinate p_max after the rotation. That adds an error of 8.9e-6·p_max·‖s‖ to the
// estimate of a cosine. With 8 bits, in samples of 1000 rows, it was 0.003 to 0.006 of the standard
// error for queries without large coordinates, at d = 64, 768 and 4096. It grows with p_max·√d': for
// queries of which one rotated coordinate was half, it was 0.005 to 0.06. With 4 bits it is a tenth of
// that.
//
// # Processors
//
// Codes and their bytes, decoded vectors, estimates and the rows that Search finds have the same bits on
// every processor and in every tier of instructions, as long as rotations are those of New. So has StdErr
// with RaBitQ. Sums have a fixed order, and every product is rounded before it is added, or none is: where
// estimates are sums in float32, they err by d'·2⁻²⁴·Σ|s_i·p_i|·‖x‖ at most.
//
// Theory and the StdErr of other schemes are integrals of elementary functions, whose last digits differ
// between processors. So may those of Between. Levels are computed with such functions too, and rounded to
// 24 binary digits, or 8 for equal steps: one would differ where it is within about 1e-13 of halfway
// between two such numbers.
//
// # References
//
//   - [Gao & Long 2024] J. Gao, C. Long. RaBitQ: quantizing high-dimensional vectors with a theoretical
//     error bound for approximate nearest neighbor search. SIGMOD 2024.
//   - [Gao et al. 2025] J. Gao, Y. Gou, Y. Xu, Y. Yang, C. Long, R. C.-W. Wong. Practical and
//     asymptotically optimal quantization of high-dimensional vectors in Euclidean space for
//     approximate nearest neighbor search. SIGMOD 2025.
//   - [Max 1960] J. Max. Quantizing for minimum distortion. IRE Transactions on Information Theory
//     6(1).
//   - [Zandieh et al. 2024] A. Zandieh, M. Daliri, I. Han. QJL: 1-bit quantized JL transform for KV
//     cache quantization with zero overhead. arXiv:2406.03482.
package quantise
