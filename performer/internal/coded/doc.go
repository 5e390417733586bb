// Package coded computes softmax attention of one head with scores, weights and values in 8 bits.
//
// # Codes
//
// Keys are divided into tiles of 256, as in package tiles. Let c be the mean of the keys of a tile
// and R a random rotation, a Hadamard transform of coordinates with random signs. Then
//
//	q·k = R·q · R·(k − c) + q·c.
//
// The first product is a product of codes: integers of at most 127 in size, with a scale for each
// query and each key. The rotation spreads coordinates that are much larger than others, and the
// difference is small if keys have a common mean. The second product has the precision of the
// elements.
//
// Codes of queries are dithered, see package bytedot: the rotation of a query with few coordinates
// has few different numbers, whose errors would be those of a query with other coordinates.
//
// The weights of a tile are integers from 0 to 255, the largest of each query 255. They are rounded
// by thresholds that differ from key to key, so that small weights do not all vanish. Codes of
// values are relative to a mean of the tile, with a scale for each column. Values that repeat have
// equal errors, which do not average out. So the mean of the tile is corrected: the sum of the
// errors of a tile is zero.
//
// Rounding a large weight w up by the threshold d_j of its key gives w + d_j − ½ and an error that
// hardly depends on w. If the weights of a tile are large on average, Σ_j (d_j − ½)·v_j is
// subtracted from the sums of the query: a constant of the tile. The sum of d_j − ½ is zero.
//
// The sum of weights is the sum of these integers: outputs are averages of rounded values. Package
// bytedot computes the products, which are exact.
//
// # Error
//
// Rounding to codes of scale σ has the variance σ²/12 a coordinate. The score s·q·k of a query with
// the scale σ_q and a key with the scale σ_k has, to first order, the variance
//
//	u = s²·(‖q‖²·σ_k² + ‖k − c‖²·σ_q²)/12,
//
// and the weight a relative error of that variance. The tests have the variance of outputs.
//
// # Exact parts
//
// Causal queries do not depend on later keys, but the scales of a tile depend on all of its values.
// So tiles with keys after the first query of a block are computed as in package tiles. The same
// holds for tiles with keys or values that are not finite, or too large or too small for codes in
// float32, and for queries that are not finite, or whose scores may overflow float32.
//
// Tiles with outliers are also computed as in package tiles, up to an eighth of the rows: keys or
// values more than eight times as large as the mean of the tile. An outlier takes the mean of keys,
// the scales of values and small weights, which are rounded, away from all other rows. A tile then
// takes the time that it takes without codes. Heads of a trained decoder have no such tile. The
// search for outliers among values takes about a fifteenth of the time that the codes of a tile
// take.
//
// # Large values
//
// Sums of values beyond Largest may overflow although their average does not. Outputs that are not
// finite are then computed a second time from values times a power of two, Smaller, which changes
// no bits otherwise.
package coded
