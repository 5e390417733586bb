// Package hadamard is the fast Walsh–Hadamard transform, the matrices behind
// it, and the random rotations made of it. It knows nothing of kernels or
// features and is useful on its own: to spread the energy of a vector evenly
// before quantising it, to sketch, to draw structured random projections.
//
// # The matrix
//
// The Hadamard matrix of order n = 2^t in Sylvester's order is
//
//	H₁ = [1],  H₂ₙ = [ Hₙ  Hₙ ]
//	                 [ Hₙ −Hₙ ]
//
// Its entries are ±1, it is symmetric, and H·H = n·I, so that H/√n is
// orthogonal and its own inverse. Entry (i, j) is (−1)^popcount(i AND j): the
// rows are Walsh functions in natural order, not in order of their number of
// sign changes. Matrix writes it out.
//
// # The transform
//
// Transform multiplies a vector by H in place in n·log₂ n additions and
// subtractions, and TransformRows does so for every row of a matrix. Both are
// unnormalised, as FFT libraries are: divide by √n for the orthogonal transform,
// by n for the inverse. The length must be a power of two; anything else, zero
// included, panics with the length.
//
// The stages run in ascending order, h = 1, 2, 4, …, whatever the
// implementation. Addition of floating-point numbers is not associative, so this
// is a promise and not a detail: the result has the same bits on every machine,
// vectorised or not, for any number of goroutines. Its error is at most
// log₂ n·u·Σ|x_j| in every element to first order, u the unit roundoff 2⁻²⁴ or
// 2⁻⁵³ [Higham 2002, section 24.1 treats the FFT in the same way].
//
// # Rotations
//
// H/√n alone is a fixed matrix. Multiplied by random signs it becomes a random
// one: F = (1/√d')·H·D with D = diag(±1) flips each coordinate with
// probability ½ and then mixes all of them. A Rotation is a product of k such
// factors,
//
//	R = F_k ⋯ F₂·F₁
//
// on vectors that are padded with zeros from d to the next power of two d'. It
// is an isometry, RᵀR = I, for any d; for d = d' it is orthogonal. One factor
// takes a vector with a single large coordinate to one whose coordinates are all
// of the same size; three make R behave, for most purposes, as a uniformly
// random rotation, of which they are an approximation that costs k·d' bits to
// store instead of d² numbers and O(k·d'·log d') to apply instead of O(d²).
//
// Apply and ApplyTransposed work on the rows of a matrix in parallel; the
// second undoes the first. The scale is folded into the signs, as powers of two
// wherever √d' allows, so that it contributes at most one rounding.
//
// # NaN and Inf
//
// Every element of H·x depends on every element of x. If one of them is NaN or
// ±Inf, no element of the result is finite: nothing is hidden. Finite elements
// whose partial sums pass the largest finite number overflow to ±Inf; partial
// sums grow to √d' times the norm of the row at most.
//
// # Sharing
//
// Transform and TransformRows write their argument. A Rotation never changes
// after NewRotation; any number of goroutines may use it. Randomness comes from
// the rand.Source given to NewRotation, which is not kept.
//
// # References
//
//   - [Ailon and Chazelle 2006] N. Ailon, B. Chazelle: Approximate nearest
//     neighbors and the fast Johnson–Lindenstrauss transform. STOC 2006.
//   - [Fino and Algazi 1976] B. J. Fino, V. R. Algazi: Unified matrix treatment
//     of the fast Walsh–Hadamard transform. IEEE Transactions on Computers
//     C-25(11), 1976.
//   - [Higham 2002] N. J. Higham: Accuracy and Stability of Numerical
//     Algorithms, 2nd edition. SIAM 2002.
//   - [Sylvester 1867] J. J. Sylvester: Thoughts on inverse orthogonal matrices,
//     simultaneous sign-successions, and tessellated pavements in two or more
//     colours. Philosophical Magazine 34, 1867.
//   - [Yu et al. 2016] F. X. Yu, A. T. Suresh, K. Choromanski, D.
//     Holtmann-Rice, S. Kumar: Orthogonal random features. NIPS 2016.
package hadamard
