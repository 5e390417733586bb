// Package bytedot multiplies matrices of 8-bit integers, and has the steps that softmax attention
// in 8 bits takes around the products.
//
// # A tile
//
// Scores have a row for each key and a column for each query, so that all that belongs to a query
// goes down a column, and columns are the lanes of vectors. With codes q̂, k̂, v̂ of at most 127 in
// size and scales σ, a tile of keys and values adds to the sums S of queries in three steps:
//
//	[Scores]  y_ji = Σ_l k̂_jl·q̂_il · σ_j·τ_i,  peak_i = max_j y_ji
//	[Weigh]   w_ji = ⌊255·2^((y_ji − shift_i)/Octave) + d_j⌋,  total_i += Σ_j w_ji
//	[Add]     S_ci = S_ci·old_i + Σ_j v̂_jc·w_ji · σ_c·new_i
//
// where τ_i is σ_i times what makes q·k a number of octaves, times [Octave]. Denominators are sums
// of the very weights that are used. Thresholds d_j differ from key to key, so that rounding has no
// bias: of many keys whose weights are a tenth, a tenth has weight 1. shift_i is a peak of the tile
// or of all tiles before; old_i and new_i bring what was summed up before, and this tile, to a
// common scale.
//
// Pairs that do not see each other are closed between Scores and Weigh: [Close] sets their scores
// to −Inf, and [Peaks] finds the peaks again. Without a mask this costs nothing. Biases are added
// to scores there, too.
//
// # Operands
//
// The left operand, [Rows], is signed codes. The right one, [Columns], is unsigned bytes: weights,
// or codes plus 128, whose sums the package corrects by the sums of the codes of each row. Sums of
// products are exact for as many as [MostInner] inner indices. [QuantiseRows] makes codes of keys,
// [QuantiseColumns] of queries and [QuantiseTransposed] of a tile of values, which then have a
// scale a column.
//
// What belongs to columns has [Padded] many elements: kernels take whole vectors, and callers have
// room for them. Columns beyond the last are zeros, and no column depends on another.
//
// # Numbers that are not finite
//
// A key, a query or a column of values with elements that are not finite has codes 0 and the scale
// NaN, and the quantising functions say so. What is computed with it is NaN: such a query has NaN
// scores, no peak and no weights, and such a key no weight for any query. Callers compute with them
// by other means. A query with a score that overflows has the peak +Inf and no weights either.
//
// # Tiers
//
// AVX-512 with VNNI, AVX2, NEON with dot products of bytes, and pure Go give the same bits:
// products are exact, and all else is a fixed sequence of operations that are rounded one by one,
// or integers. Only the sign of a peak that is 0 is left open. An operand is for the tier that made
// it.
//
// Groups of four inner indices lie side by side, for a row or column, in both operands. VNNI adds
// their products to a sum of 32 bits in one instruction, of signed and unsigned bytes, and so does
// SDOT of signed bytes: NEON takes unsigned ones less 128. AVX2 multiplies even and odd bytes as 16
// bits, since its products of bytes saturate, with a second copy of the left operand that has 16
// bits already.
//
// The weights are computed in integers of 16 bits, twice as many to a vector as float32: package
// octave says how.
package bytedot
