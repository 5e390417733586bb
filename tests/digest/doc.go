// Package digest has only tests. They compare digests of the results that have the same bits on
// every processor, with one set of digests for all architectures and tiers of instructions. The
// inputs use neither elementary functions nor draws of math/rand/v2, which differ in the last bits.
//
// Results of matrix products and of elementary functions have no digests, because the kernels of
// each tier round differently. Random draws that depend on them, such as frequencies, landmarks and
// centres of clusters, have no digests either.
package digest
