// Package hadamard computes the fast Walsh–Hadamard transform, transforms by other Hadamard
// matrices, the matrices themselves, and random rotations made from them.
//
// A Hadamard matrix H of order n has entries ±1 and H·Hᵀ = n·I. Orders of Hadamard matrices in this
// package are powers of two, Paley's orders h such as 12, 20, 24, 28 and 36, and h·2^k. NextOrder
// returns the next order of a Hadamard matrix, and FastOrder the next order whose transform is
// fast. Transforms are unnormalised: for x of length n,
//
//	Transform(x), then x[i] /= √n             is orthonormal
//	TransformTransposed(x), then x[i] /= n    is the inverse of Transform
//
// Transforms panic for a length that is no order of a Hadamard matrix, and the message names the
// next order. Goroutines may call transforms on disjoint memory. Sums have a fixed order, so that
// results have the same bits on every machine. NaN or ±Inf in x leaves no element of H·x finite.
//
// A Rotation is a product of k factors (1/√d')·H·D with random signs D, an isometry that behaves as
// a uniform rotation for most purposes. A Rotation never changes: goroutines may share a Rotation.
// A seed of a random source draws the same Rotation in every version and on every platform.
// docs/frequencies.md has constructions, costs of orders and laws of rotations.
package hadamard
