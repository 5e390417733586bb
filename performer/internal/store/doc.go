// Package store holds the tokens of a stream of attention.
//
// # Segments
//
// Tokens lie in segments that close. A closed segment never changes. Closed segments hold elements,
// codes, or sums of linear attention. Keys and values of tokens behind them are open: they have
// elements. The tokens that close together are a tile of 256 for elements, and a segment of 64 for
// codes, which closes when 128 tokens are open, or 64 with a window. So the state of a store depends on
// the tokens, and not on how they are divided into calls. The sums of linear attention take each token
// at once.
//
// Segments lie in slabs of 4096 tokens, which do not move, except the first while it grows. Clones
// share slabs. Only the owner of a slab closes segments in it, behind those that others have. Another
// store copies the last slab first.
//
// # Windows
//
// A window, or a chunk, lets a query see R tokens before it. The store drops whole slabs of tokens
// that the query of token n − max(R/16, 64) does not see, so that Rollback can always take back
// max(R/16, 64) tokens. With a window slabs have about R/4 tokens, at least 256 for elements and 64
// for codes. Slabs of sinks remain.
//
// # Codes
//
// Let R be a rotation, a Hadamard transform of coordinates with random signs, the same in every
// program, and m the mean of R·k over a segment. A key k is stored as codes of R·k − m: integers of b
// bits times a step, from the least coordinate on. A value has codes likewise. A mean has codes of 16
// bits. The rotation spreads coordinates that are much larger than others. The codes of a mean are
// made twice: the second time the mean takes up what rounding of its tokens has left over on average,
// so that errors of values that repeat average out. Tokens more than four times as large as the median
// of their segment do not count for the mean.
//
// Codes of 16 bits are two planes of 8 bits, whose products package scan computes. Queries are
// rotated, and sums of values are rotated back once for each query. The products of queries with
// means are added to the scores of a segment, and means times the sums of the weights of a segment to
// the outputs. For a key and a value of d and dv coordinates a head of keys takes
//
//	(b + ¼)·d/8 + (b' + ¼)·dv/8 + 8⅛ bytes
//
// for b and b' bits of keys and values, if R pads neither and codes fill whole words, as for
// multiples of 64: 140 bytes in 8 bits and 76 in 4 bits for d = dv = 64, where elements of float32
// take 512.
//
// A row with elements that are not finite, or with a scale beyond the range of float32, has codes
// of its own, with a scale of NaN. Outputs that are not finite, and outputs whose scores may
// overflow float32, are computed again by package tiles from the elements that the codes stand for.
// If the values of a piece of the codes are very large or very small, weights are divided by a
// power of two, so that sums neither overflow nor lose digits.
//
// # Coarse codes
//
// With a TopK closed segments have coarse codes: signs of the rotated differences of keys from their
// mean, a factor for each key, and codes of 16 bits of the means of keys and of values. A store of
// codes uses the means of its keys, and differences that its codes stand for. Coarse codes follow from
// what a segment holds, so that files do not have them, and Merge and Decode make them again.
//
// A query scores the keys of all closed segments by their signs, in tables of 16 entries (package
// scan). A histogram of the peaks of groups of scores bounds the highest scores from below, a kernel
// lists the scores above, and of equal scores the first are taken: what a query reads does not depend
// on threads. The chosen rows are prefetched, while all other scores become weights, whose sums over
// segments multiply the mean values. Then the chosen rows are gathered and read as any tokens. An
// output that is not finite is computed again from all tokens.
//
// # Error of codes
//
// The step of a row is the range of its elements over 2^b − 1, and its rounding has the variance r
// = step²/12 a coordinate. To first order the squared error of an output o = Σ_j p_j·v_j, with
// weights p of sum 1 and scores s·q·k, has the expectation
//
//	Σ_b Σ_J [s²·‖q‖²·r_k·‖Σ_J z_j‖² + dv·r_v·(Σ_J (p_j − p̄_b))²].
//
// b are the segments and J their tokens with the same key, or in the second term with the same value.
// z_j is p_j·(v_j − o) less its mean over the segment, and p̄_b is the mean of p_j. Open tokens have
// no error. Queries and weights are rounded to 16 bits, whose error is negligible but with codes of 16
// bits, where all together make 0.006 % of normal values. In a segment whose keys or values are only
// two opposite rows, their errors are opposite too: the error is up to √2 times as large.
//
// Package coded has codes of a prompt, which this package cannot use: their integer products sum over
// keys, so that values have a scale for each column of a tile instead of one for each row.
package store
