// Package coded is softmax attention of one head with scores, weights and values in 8 bits.
//
// # Codes
//
// Keys go in tiles of 256, as in package tiles. Let c be the mean of the keys of a tile and R a
// random rotation, a Hadamard transform of coordinates with random signs. Then
//
//	q·k = R·q · R·(k − c) + q·c.
//
// The first product is one of codes: integers of at most 127 in size, with a scale for each query
// and each key. The rotation spreads coordinates that are much larger than others, and the
// difference is small where keys have a common mean. The second product has the precision of the
// elements.
//
// The weights of a tile are integers from 0 to 255, the largest of each query 255. They are rounded
// by thresholds that differ from key to key, so that the small ones do not all vanish. Values have
// codes less their mean in the tile, with a scale for each of its columns. The sum of weights is
// that of the very integers, so that outputs are averages of rounded values. Package bytedot has
// the products, which are exact.
//
// # Error
//
// Rounding to codes of scale σ has the variance σ²/12 a coordinate, so that the score s·q·k of a
// query with the scale σ_q and a key with the scale σ_k has the variance
//
//	u = s²·(‖q‖²·σ_k² + ‖k − c‖²·σ_q²)/12
//
// to first order, and the weight a relative error of that variance. See [Variances].
//
// # Exact parts
//
// Causal queries do not depend on later keys, on whose values the scales of a tile depend. So tiles
// that hold keys after the first query of a block are computed as in package tiles, and so are
// tiles with keys or values that are not finite, or too large or too small for codes in float32,
// and queries that are not finite, or whose scores may overflow float32.
//
// # Large values
//
// Sums of values beyond Largest may overflow where their average does not. Outputs that are not
// finite then are computed a second time from values times a power of two, Smaller, which changes
// no bits otherwise.
package coded
