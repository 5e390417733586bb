// Package coded computes softmax attention of one head with scores, weights and values in 8 bits.
//
// Keys are divided into tiles of 256, as in package tiles. Let c be the mean of the keys of a tile
// and R a random rotation. Then q·k = R·q · R·(k − c) + q·c. The first product is a product of
// codes: integers of at most 127 in size, with a scale for each query and each key. Weights are
// integers from 0 to 255, and values codes relative to a mean of the tile. Outputs are averages of
// rounded values.
//
// Tiles with keys after the first query of a block, with outliers, or with numbers that codes
// cannot hold are computed as in package tiles.
//
// docs/laws.md of this module has the rounding, the law of the error and the exceptions.
package coded
