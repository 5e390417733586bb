// Package givens rotates vectors of R^d by plane (Givens) rotations and by random products of them,
// in any dimension without padding. The Rotation by θ radians in the plane of the coordinates i and
// j, from axis i towards axis j, is
//
//	y_i = cos θ·x_i − sin θ·x_j
//	y_j = sin θ·x_i + cos θ·x_j
//
// A Product is P = G_N ⋯ G₂·G₁ of plane rotations, with G₁ applied first. A Product of N rotations
// takes 4N multiplications and 2N additions a vector. A seed of a random source draws the same
// Product in every version and on every platform, and results have the same bits. If one of the two
// coordinates that a plane rotation mixes is NaN or ±Inf, both become NaN or ±Inf. A Rotation is a
// value and a Product never changes: goroutines may share both. docs/frequencies.md has the laws of
// products; docs/references.md has the papers.
package givens
