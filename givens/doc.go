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
// NewRotation makes a Rotation, which is a small value. ApplyVec rotates a vector and Apply rotates
// every row of a matrix, also in place.
//
// # Random products
//
// A Product is P = G_N ⋯ G₂·G₁ with G₁ applied first. RandomProduct draws the planes uniformly from
// the d·(d−1)/2 pairs i < j and the angles uniformly from [0, 2π). This is Kac's random walk on
// SO(d), whose law tends to the Haar law, the uniform law of rotations. About d·log d steps bring
// any fixed vector close to uniform on its sphere [Pillai and Smith 2017], hence the default
// N = ⌈d·log₂ d⌉. All columns of P together take longer. The distance from the Haar law is known
// exactly for moments of low degree: the mean of P is (1 − 2/d)^N·I, and the difference between
// E Σ_i (P·x)_i⁴ and its Haar value 3·‖x‖⁴/(d+2) shrinks by the factor
//
//	1 − (d+2)/(2d(d−1))
//
// with each rotation, to about d^−0.72 of its first value at the default N.
//
// R¹ has no planes. For d = 1 the default product is empty, P is the identity, and n > 0 rotations
// are an error.
//
// ApplyVec rotates a vector and Apply the rows of a matrix. ApplyTransposedVec and ApplyTransposed
// undo these rotations. hadamard.Rotation has the same methods, and pads vectors where Product does
// not. orf.Write writes products as parts of orf.Givens. A seed draws the same product in every version of this
// package and on every platform, and the results of the product have the same bits.
//
// # Cost
//
// RandomProduct computes N sines and cosines in float64 and rounds them once to T. A Product takes
// 4N multiplications and 2N additions a vector. With AVX2, AVX-512 or NEON, Apply rotates as many
// rows at once as a vector register has elements, and it uses several goroutines. Every row has the
// bits of ApplyVec, on every architecture. Matrix computes P in O(N·d). P is orthogonal up to
// rounding: with the unit roundoff u, one rotation changes a norm by a factor 1 + O(u), and N
// rotations by at most 1 + O(N·u).
//
// # NaN and Inf
//
// NaN and ±Inf spread to both coordinates of every plane that contains their coordinate.
// Coordinates that no rotation mixes with theirs stay finite.
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
