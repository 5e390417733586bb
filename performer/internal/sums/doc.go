// Package sums computes attention whose weights are inner products of features. It sums features of
// keys times values, multiplies features of queries by the sums, and computes gradients.
//
// An [Operator] says what is computed, and never changes. An [Engine] is an operator with memory
// that calls reuse. The interfaces [Features] and [Direct] hide how features are computed.
package sums
