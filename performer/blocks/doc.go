// Package blocks computes softmax attention, causal or without a mask, that reads some blocks of
// keys: those that a few queries ask for. The package is for long texts, where the heads of
// transformers give most of the weight to few of the keys, and different keys at different places.
//
//	attention, err := blocks.New[float32](blocks.Options{Threshold: 0.05, EightBits: true})
//	out := attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// # How it works
//
// Queries and keys are divided into blocks of 64. For each block of queries, four queries compute
// the weights of all their keys. The blocks of keys, ordered by their mean share of these weights,
// are read until the share of the blocks left out is at most Threshold. All queries of the block
// have exact attention over the keys that are read.
//
// Without a mask the four queries are number 8, 24, 40 and 56 of the block. In causal attention
// they are the first query of the block, and those 16, 32 and 48 places before it, and the first
// block of keys, with the attention sinks, and the block of the queries are always read: the output
// of a token depends on no later token. The first 128 causal queries, blocks of fewer than 9
// queries, and blocks of queries whose weights are not finite read all keys. Blocks begin at the
// first key that counts.
//
// # Error
//
// No bound of the error is known in advance, and the share of weight left out says little about it:
// a query may need a key that the scored queries do not need. On heads of SmolLM2-135M a Threshold
// of 0.05 had errors from 4 % to 29 %. audit.Choose measures errors, and chooses the Threshold of a
// head. Diffuse attention, whose weights are spread evenly over all keys, reads all blocks, and so
// do queries or keys in no order, such as word vectors: their neighbours have nothing in common.
// Without a mask, rows sorted by the centres of package kmeans are neighbours of their like.
//
// # Cost
//
// Four of 64 queries score all keys, O(L²·d/32) for L tokens, and the blocks that are read cost
// what they cost in exact attention. docs/attention.md of this module has times.
package blocks
