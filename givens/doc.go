// Package givens rotates vectors of R^d by plane (Givens) rotations and by random products of them.
// A random product works in any dimension without padding, costs O(d·log d) per vector, and takes a
// vector close to a uniformly random vector of the same norm. The package is useful on its own.
//
// The Rotation by θ radians in the plane of the coordinates i and j, from axis i towards axis j, is
//
//	y_i = cos θ·x_i − sin θ·x_j
//	y_j = sin θ·x_i + cos θ·x_j
//
// Texts on the QR factorisation often write the transpose, which Inverse returns. A Product is P =
// G_N ⋯ G₂·G₁ with G₁ applied first. RandomProduct draws the planes uniformly from the pairs i < j
// and the angles uniformly from [0, 2π).
//
// A product takes 4N multiplications and 2N additions a vector, and changes a norm by a factor of
// at most 1 + O(N·u) with the unit roundoff u. A seed draws the same product in every version and
// on every platform, and results have the same bits. NaN and ±Inf spread to both coordinates of
// every plane that contains their coordinate. A Rotation is a value and a Product never changes:
// goroutines may share both.
//
// docs/frequencies.md has the laws of products; docs/references.md has the papers.
package givens
