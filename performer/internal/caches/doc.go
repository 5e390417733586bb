// Package caches holds keys and values of a stream of exact attention in codes of 4, 8 or 16 bits.
//
// # Codes
//
// Let R be a rotation, a Hadamard transform of coordinates with random signs, the same in every
// program, and m the mean of R·k over a block of 64 tokens, or of 16 tokens for windows below 2048.
// A key k is stored as codes of R·k − m: integers of b bits times a step, from the least coordinate
// on. A value has codes likewise. A mean has codes of 16 bits. The rotation spreads coordinates that
// are much larger than others. The codes of a mean are made twice: the second time the mean takes up
// what rounding of its tokens has left over on average, so that errors of values that repeat average
// out. Tokens more than four times as large as the median of their block do not count for the mean.
//
// Codes of 16 bits are two planes of 8 bits, whose products package scan computes. Queries are
// rotated, and sums of values are rotated back once for each query. The products of queries with
// means are added to the scores of a block, and means times the sums of the weights of a block to
// the outputs.
//
// For a key and a value of d and dv coordinates a head of keys takes
//
//	(b + ¼)·d/8 + (b' + ¼)·dv/8 + 8⅛ bytes
//
// for b and b' bits of keys and values, if R pads neither and codes fill whole words, as for
// multiples of 64: 140 bytes in 8 bits and 76 in 4 bits for d = dv = 64, where elements of float32
// take 512. Means of blocks of 16 tokens add d/8 + dv/8 + ⅜ bytes. Each head also stores the
// elements of the last 64 to 127 tokens; with a window, of less than a block.
//
// # Error
//
// The step of a row is the range of its elements over 2^b − 1, and its rounding has the variance r
// = step²/12 a coordinate. To first order the squared error of an output o = Σ_j p_j·v_j, with
// weights p of sum 1 and scores s·q·k, has the expectation
//
//	Σ_b Σ_J [s²·‖q‖²·r_k·‖Σ_J z_j‖² + dv·r_v·(Σ_J (p_j − p̄_b))²].
//
// b are the blocks and J their tokens with the same key, or in the second term with the same value.
// z_j is p_j·(v_j − o) less its mean over the block, and p̄_b is the mean of p_j. The last tokens,
// which have no codes, have no error. Queries and weights are rounded to 16 bits, whose error is
// negligible but with codes of 16 bits, where all together make 0.006 % of normal values. In a
// block whose keys or values are only two opposite rows, their errors are opposite too: the error
// is up to √2 times as large.
//
// # Tokens
//
// Blocks are encoded when 128 tokens have no codes; with a window, when the tokens of a block have
// none. So outputs do not depend on how a stream is divided into calls. Codes of a token depend on
// its block alone. After Merge blocks have other tokens than in one stream.
//
// A row with elements that are not finite, or with a scale beyond the range of float32, has codes
// of its own, with a scale of NaN. Outputs that are not finite, and outputs whose scores may
// overflow float32, are computed again by package tiles from the elements that the codes stand for.
//
// If the values of a piece of the codes are very large or very small, weights are divided by a
// power of two, so that sums neither overflow nor lose digits.
package caches
