// Package sums is the engine of attention whose weights are inner products of features: it sums keys
// and values up, bidirectionally or causally, answers queries from the sums, and takes gradients back
// through both.
//
// An [Operator] says what is computed, and never changes. An [Engine] is an operator with memory that
// calls use again. What features are, and what stands between those of queries and keys, is behind
// the interfaces [Features], [Direct] and [Mixer].
package sums
