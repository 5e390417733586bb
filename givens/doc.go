// Package givens rotates vectors of R^d by plane (Givens) rotations and by random products of them.
// A random product works in any dimension without padding, costs O(d·log d) per vector, and takes a
// vector close to a uniformly random vector of the same norm. The package is useful on its own.
//
// # One rotation
//
// The rotation by θ in the plane of the coordinates i and j, from axis i towards axis j, is
//
//	y_i = cos θ·x_i − sin θ·x_j
//	y_j = sin θ·x_i + cos θ·x_j
//
// e_i goes to cos θ·e_i + sin θ·e_j: counter-clockwise where i points right and j up. θ is in
// radians. Texts on the QR factorisation often write the transpose [Golub and Van Loan 2013,
// section 5.1.8], the rotation by −θ, which Inverse returns. Exchanging i and j also turns θ into
// −θ.
//
// A Rotation is a small value made by New. It applies to a vector or to every row of a matrix, also
// in place.
//
// # Random products
//
// A Product is P = G_N ⋯ G₂·G₁ with G₁ applied first. Draw draws the planes uniformly from the
// d·(d−1)/2 pairs i < j and the angles uniformly from [0, 2π). This is Kac's random walk on SO(d),
// whose law tends to the Haar law, the uniform law. About d·log d steps bring any fixed vector
// close to uniform on its sphere [Pillai and Smith 2017], hence the default N = ⌈d·log₂ d⌉; all
// columns of P together take longer. The distance is known exactly for low degrees: the mean of P
// is (1 − 2/d)^N·I, and the difference between E Σ_i (P·x)_i⁴ and its Haar value 3·‖x‖⁴/(d+2)
// shrinks by the factor
//
//	1 − (d+2)/(2d(d−1))
//
// a rotation, to about d^−0.72 of its start at the default N.
//
// R¹ has no planes. There the default product is empty, P is the identity, and asking for n > 0
// rotations is an error.
//
// ApplyVec and Apply rotate a vector and the rows of a matrix; ApplyTransposedVec and
// ApplyTransposed undo that: the methods of hadamard.Rotation, for any d. A Product is stored by
// MarshalBinary. A seed draws the same product, whose results have the same bits, in every version
// of this package and on every platform.
//
// # Cost
//
// Drawing a product takes N angles and their sines and cosines, computed in float64 and rounded
// once to T. Applying it takes 4N multiplications and 2N additions per vector. The rows of a matrix
// are rotated many at a time, one in each element of a vector register where the processor has
// AVX2, AVX-512 or NEON, and in parallel; every row has the bits that it has alone, on every
// architecture. Matrix writes P out in O(N·d). P is orthogonal up to rounding: each rotation
// changes a norm by a factor 1 + O(u), u the unit roundoff, N rotations by at most 1 + O(N·u).
//
// # NaN and Inf
//
// NaN and ±Inf reach both coordinates of every plane that contains their coordinate, and are never
// dropped. Coordinates that no rotation mixes with them stay finite.
//
// # Sharing
//
// Rotation is a value, and a Product changes only in UnmarshalBinary; any number of goroutines may
// use them. The rand.Source given to Random is not kept.
//
// # References
//
//   - [Choromanski et al. 2018] K. Choromanski, M. Rowland, T. Sarlós, V. Sindhwani, R. Turner, A.
//     Weller: The geometry of random features. AISTATS 2018.
//   - [Golub and Van Loan 2013] G. H. Golub, C. F. Van Loan: Matrix Computations, 4th edition.
//     Johns Hopkins University Press 2013.
//   - [Lemire 2019] D. Lemire: Fast random integer generation in an interval. ACM Transactions on
//     Modeling and Computer Simulation 29(1), 2019.
//   - [Pillai and Smith 2017] N. S. Pillai, A. Smith: Kac's walk on n-sphere mixes in n log n
//     steps. Annals of Applied Probability 27(1), 2017.
package givens
