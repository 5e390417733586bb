// Package caches holds keys and values of a stream of exact attention in codes of 8 or 4 bits.
//
// # Codes
//
// Let R be a rotation, a Hadamard transform of coordinates with random signs, the same in every
// program. A key k is stored as codes of R·k: the odd numbers 2c − (2^b − 1), for the codes c of b
// bits, times a scale, the largest |coordinate| of R·k over 2^b. A value has codes and a scale
// likewise. The rotation spreads coordinates that are much larger than others. Queries are rotated,
// and sums of values are rotated back once for each query. Package scan computes the products.
//
// For a key and a value of d and dv coordinates a head of keys takes
//
//	b·(d + dv)/8 + 8 bytes
//
// if R pads neither and codes fill whole words, as for multiples of 16: 136 bytes in 8 bits and 72
// in 4 bits for d = dv = 64, where elements of float32 take 512. Each head also stores the elements
// of the last 64 to 127 tokens.
//
// # Error
//
// The cells of a scale σ are 2σ wide, so that rounding has the variance σ²/3 a coordinate. The
// largest coordinate has the error σ: on average over d coordinates the variance is
//
//	r = (1 + 2/d)·σ²/3.
//
// So the score s·q·k has the variance u = s²·‖q‖²·r of the key, and coordinate c of an output o =
// Σ_j p_j·v_j with weights p of sum 1 has, to first order, the variance
//
//	Σ_j p_j²·(u_j·(v_jc − o_c)² + r_j),
//
// with r_j of the values and without the last tokens, which have no error. Queries and weights are
// rounded to 16 bits, whose error is negligible. If 64 coordinates are normal, σ is about 2.6·2^−b
// of their standard deviation: the error of a row is 0.6 % in 8 bits and 9.5 % in 4 bits.
//
// # Tokens
//
// Tokens are encoded 64 at a time, when 128 tokens have no codes. So outputs depend on the tokens
// alone, not on how a stream is divided into calls. Codes of a token depend on no other token.
//
// A row with elements that are not finite, or with a scale beyond the range of float32, has codes
// of its own, with a scale of NaN. Outputs that are not finite, and outputs whose scores may
// overflow float32, are computed again by package tiles from the elements that the codes stand for.
//
// If the values of a piece of the codes are very large or very small, weights are divided by a
// power of two, so that sums neither overflow nor lose digits.
package caches
