// Package givens rotates vectors of R^d by plane (Givens) rotations and by random products of them.
// A random product works in any dimension without padding, costs O(d·log d) per vector, and takes a
// vector close to a uniformly random vector of the same norm. The package is useful on its own.
//
// # One rotation
//
// The Rotation by θ radians in the plane of the coordinates i and j, from axis i towards axis j, is
//
//	y_i = cos θ·x_i − sin θ·x_j
//	y_j = sin θ·x_i + cos θ·x_j
//
// Texts on the QR factorisation often write the transpose [Golub and Van Loan 2013, section 5.1.8],
// the rotation by −θ, which Inverse returns. ApplyVec rotates a vector and Apply every row of a
// matrix, also in place.
//
// # Random products
//
// A Product is P = G_N ⋯ G₂·G₁ with G₁ applied first. RandomProduct draws the planes uniformly from
// the d·(d−1)/2 pairs i < j and the angles uniformly from [0, 2π). The default N = ⌈d·log₂ d⌉
// brings any fixed vector close to uniform on its sphere [Pillai and Smith 2017].
// docs/frequencies.md has the distance from uniform rotations. For d = 1 the default product is
// empty, P is the identity, and n > 0 rotations are an error.
//
// ApplyVec rotates a vector and Apply the rows of a matrix on several goroutines;
// ApplyTransposedVec and ApplyTransposed undo these rotations. Matrix computes P in O(N·d). A
// product takes 4N multiplications and 2N additions a vector, and changes a norm by a factor of at
// most 1 + O(N·u) with the unit roundoff u. RandomProduct computes N sines and cosines in float64
// and rounds them once to T. A seed draws the same product in every version of this package and on
// every platform, and results have the same bits. orf.Write writes products as parts of orf.Givens.
//
// # NaN and Inf
//
// NaN and ±Inf spread to both coordinates of every plane that contains their coordinate.
// Coordinates that no rotation mixes with these coordinates stay finite.
//
// # Sharing
//
// Any number of goroutines may share a Rotation and a Product: a Rotation is a value, and a
// Product never changes. RandomProduct does not keep its rand.Source.
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
