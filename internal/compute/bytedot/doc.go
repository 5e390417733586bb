// Package bytedot multiplies matrices of 8-bit integers, and has the other steps of softmax
// attention in 8 bits. A matrix of scores has a row for each key and a column for each query.
//
// With codes q̂, k̂, v̂ of at most 127 in size and scales σ, a tile of keys and values adds to the
// sums S of queries in three steps:
//
//	[Scores]  y_ji = Σ_l k̂_jl·q̂_il · σ_j·τ_i,  peak_i = max_j y_ji
//	[Weigh]   w_ji = ⌊255·2^((y_ji − shift_i)/Octave) + d_j⌋,  total_i += Σ_j w_ji
//	[Add]     S_ci = S_ci·old_i + Σ_j v̂_jc·w_ji · σ_c·new_i
//
// τ_i is σ_i times the factor from q·k to octaves, times [Octave]. The thresholds d_j differ from
// key to key, so that rounding has no bias. The factors old_i and new_i bring earlier sums and the
// sums of this tile to a common scale. Between Scores and Weigh, [Close] masks scores, [Peaks]
// finds the remaining peaks, and a caller adds biases.
//
// The left operand, [CodedRows], has signed codes, and the right operand, [CodedColumns], unsigned
// bytes: weights, or codes plus 128. Sums of products are exact for up to [MostInner] inner
// indices. A slice with an element for each column has [Padded] elements. Rows and columns that are
// not finite have codes 0 and the scale NaN: such a query has NaN for scores and no weights, such a
// key no weight, and sums over such a column of values are NaN. Callers compute these by other
// means.
//
// All tiers give the same bits. An operand serves only the tier that made it.
package bytedot
