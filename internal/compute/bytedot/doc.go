// Package bytedot multiplies matrices of 8-bit integers, and has the other steps of softmax
// attention in 8 bits.
//
// # A tile
//
// A matrix of scores has a row for each key and a column for each query. Columns are the lanes of
// vectors. With codes q̂, k̂, v̂ of at most 127 in size and scales σ, a tile of keys and values
// adds to the sums S of queries in three steps:
//
//	[Scores]  y_ji = Σ_l k̂_jl·q̂_il · σ_j·τ_i,  peak_i = max_j y_ji
//	[Weigh]   w_ji = ⌊255·2^((y_ji − shift_i)/Octave) + d_j⌋,  total_i += Σ_j w_ji
//	[Add]     S_ci = S_ci·old_i + Σ_j v̂_jc·w_ji · σ_c·new_i
//
// τ_i is the scale σ_i times the factor that turns q·k into octaves, times [Octave]. Denominators
// are sums of the rounded weights. The thresholds d_j differ from key to key, so that rounding has
// no bias: of many keys whose weights are 0.1, a tenth has weight 1. shift_i is a peak of this tile
// or of all tiles so far. The factors old_i and new_i bring earlier sums and the sums of this tile
// to a common scale.
//
// Queries that score different keys have a row of sums each: [Columns.Gather] collects the queries
// of some keys, [Weighted] sums the values of these keys, and [AddRows] adds the sums to the rows.
//
// A mask is applied between Scores and Weigh: [Close] sets scores to −Inf, and [Peaks] finds the
// peaks of the remaining scores. A caller adds biases to the scores at the same point.
//
// # Operands
//
// The left operand, [Rows], has signed codes. The right operand, [Columns], has unsigned bytes:
// weights, or codes plus 128. The package corrects sums over codes plus 128 by the sums of the
// codes of each row. Sums of products are exact for up to [MostInner] inner indices. [QuantiseRows]
// makes codes of keys, [QuantiseColumns] of queries, and [QuantiseTransposed] of a tile of values,
// with a scale for each column of the tile. [QuantiseTile] makes a right operand of such a tile.
//
// A slice with an element for each column has [Padded] elements, because kernels read and write
// whole vectors. Columns beyond the last are zeros, and no column depends on another.
//
// # Numbers that are not finite
//
// A key, a query or a column of values with an element that is not finite has codes 0 and the scale
// NaN, and the quantising function returns false. The scores of such a query are NaN: the query has
// no peak and no weights. Such a key has no weight for any query. Sums over such a column are NaN.
// Callers compute these rows and columns by other means. A query with a score that overflows has
// the peak +Inf and no weights either.
//
// # Tiers
//
// AVX-512 with VNNI, AVX2 with and without AVX-VNNI, NEON with dot products of bytes, and pure Go
// give the same bits:
// products are exact, and every other step is a fixed sequence of integer operations or of
// operations that round once. Only the sign of a peak that is 0 may differ. An operand can be used
// only by the tier that made it.
//
// In both operands four inner indices of a row or column are adjacent. VNNI adds the four products
// of signed and unsigned bytes to a sum of 32 bits in one instruction. SDOT of NEON does this for
// signed bytes, so NEON subtracts 128 from unsigned bytes. AVX-VNNI is VNNI on the vectors of AVX2.
// Without it products of bytes saturate on AVX2, which therefore multiplies the even and the odd
// bytes as 16 bits, and keeps a second copy of the left operand in 16 bits.
//
// Weights are computed in integers of 16 bits, because a vector holds twice as many as of float32.
// Package octave describes the arithmetic.
package bytedot
