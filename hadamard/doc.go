// Package hadamard computes the fast Walsh–Hadamard transform, transforms by other Hadamard
// matrices, the matrices themselves, and random rotations made from them. The package is useful on
// its own: to spread the energy of a vector evenly before the vector is quantised, for sketches,
// and for structured random projections.
//
// A Hadamard matrix H of order n has entries ±1 and H·Hᵀ = n·I. Orders are powers of two, Paley's
// orders h such as 12, 20, 24, 28 and 36, and h·2^k. NextOrder returns the next order, FastOrder
// the next fast order. Transforms are unnormalised, as FFT libraries are. With x of length n,
//
//	Transform(x), then x[i] /= √n             is orthonormal
//	TransformTransposed(x), then x[i] /= n    is the inverse of Transform
//
// A length that is no order causes a panic, whose message names the next order. Goroutines may
// call transforms on disjoint memory.
//
// A Rotation is a product of k factors (1/√d')·H·D with random signs D, an isometry that behaves
// as a uniform rotation for most purposes. A Rotation takes k·d' bits, and k transforms to apply.
// A Rotation never changes: goroutines may share a Rotation.
//
// A seed draws the same rotation in every version and on every platform. Sums have a fixed order,
// so that results have the same bits on every machine. If an element of x is NaN or ±Inf, no
// element of H·x is finite.
//
// docs/frequencies.md has constructions, costs of orders and laws of rotations.
package hadamard
