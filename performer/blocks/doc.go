// Package blocks computes softmax attention, causal or without a mask, that reads some blocks of
// keys: those to which a few queries give large weights. The package is for long texts, where the
// heads of transformers give most of the weight to few of the keys, and different keys at different
// places.
//
//	attention, err := blocks.New[float32](blocks.Options{Threshold: 0.05, EightBits: true})
//	out := attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// Queries and keys are divided into blocks of 64. For each block of queries, four queries compute
// the weights of all their keys: number 8, 24, 40 and 56 of the block, or, causal, the first of the
// block, and those 16, 32 and 48 places before it. Attention reads the blocks of keys with the
// largest mean shares of the weights of the four queries, as many as leave out a share of at most
// Threshold. Causal queries also read the first block of keys, and their own block. The first 128
// causal queries, blocks of fewer than 9 queries, and blocks of queries whose weights are not
// finite read all keys.
//
// No bound of the error is known in advance: a query may need a key that the four queries do not
// need. audit.Choose measures errors, and chooses the Threshold of a head. Queries or keys in no
// order, such as word vectors, read all blocks unless rows are sorted, as by the centres of package
// kmeans.
//
// Four of 64 queries score all keys, O(L²·d/16) for L tokens without a mask, and the blocks that
// are read cost what they cost in exact attention. docs/attention.md of this module has times.
package blocks
