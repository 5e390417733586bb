// Package digest has tests alone. They hold what the library promises to be the same on every
// processor: digests of results, one set for all architectures and tiers of instructions. Inputs come
// without elementary functions and without draws of math/rand/v2, which differ in the last bits.
//
// Not among the digests, because they hold on one machine only: results of matrix products and of
// elementary functions, which kernels of each tier round in their own way, and what is drawn with
// them, as frequencies, landmarks and centres of clusters are.
package digest
