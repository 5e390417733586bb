// Package blocks computes causal softmax attention that reads some blocks of keys: those that a few
// queries ask for. The package is for long prompts of language models, whose heads give most of the
// weight to few of the keys, and different keys at different places.
//
//	attention, err := blocks.New[float32](blocks.Options{Threshold: 0.05, EightBits: true})
//	out := attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// # How it works
//
// Places are divided into blocks of 64. For each block of queries, four queries compute the weights
// of all their keys: the first of the block, and those 16, 32 and 48 places before it. The blocks
// of keys, ordered by their mean share of these weights, are read until the share of the blocks
// left out is at most Threshold. The first block, which has the attention sinks, and the block of
// the queries themselves are always read. The queries then have exact attention over the keys that
// are read. So the output of a token depends on no later token.
//
// The first 128 queries of a call read all their keys, and so does a block of queries if the
// weights are not finite. Places count from the first key that counts.
//
// # Error
//
// No bound of the error is known in advance, and the share of weight left out says little about it:
// a query may need a key that the scored queries do not need. On heads of SmolLM2-135M a Threshold
// of 0.05 had errors from 4 % to 29 %. audit.Choose measures errors, and chooses the Threshold of a
// head. Diffuse attention, whose weights are spread evenly over all keys, reads all blocks: it
// takes the time of exact attention and, for the choice, 4 to 7 % of it.
//
// # Cost
//
// Four of 64 queries score all keys, O(L²·d/32) for L tokens, and the blocks that are read cost
// what they cost in exact attention. docs/attention.md of this module has times.
package blocks
