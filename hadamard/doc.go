// Package hadamard is the fast Walsh–Hadamard transform, the matrices behind
// it, and the random rotations made of it. It knows nothing of kernels or
// features and is useful on its own: to spread the energy of a vector evenly
// before quantising it, to sketch, to draw structured random projections.
//
// # The matrices
//
// A Hadamard matrix of order n has entries ±1 and H·Hᵀ = n·I, so that H/√n is
// orthogonal. Sylvester's, of order n = 2^k, is
//
//	H₁ = [1],  H₂ₙ = [ Hₙ  Hₙ ]
//	                 [ Hₙ −Hₙ ]
//
// It is symmetric, hence H/√n its own inverse. Entry (i, j) is
// (−1)^popcount(i AND j): the rows are Walsh functions in natural order. Sequency
// reorders a transformed vector by the number of sign changes of the rows, 0, 1,
// 2, …, and Natural takes it back.
//
// Paley found matrices of other orders in finite fields [Paley 1933]. Let χ be the
// quadratic character of the field GF(q), q a power of an odd prime: 1 at
// squares, −1 at other elements, 0 at 0. Bordered by ones, the matrix
// Q_ab = χ(a − b) gives an S with SSᵀ = qI, and then
//
//	q ≡ 3 (mod 4):  I + S                                 of order q + 1
//	q ≡ 1 (mod 4):  S ⊗ [ 1  1 ] + I ⊗ [  1 −1 ]          of order 2(q + 1)
//	                    [ 1 −1 ]       [ −1 −1 ]
//
// are Hadamard matrices: 12, 20, 24, 28, 36, 44, 48, 52, 60, 68, …; the second is
// symmetric. With C of such an order h, C ⊗ H_2^k has order h·2^k. Among the
// multiples of 4 up to 100 only 92 is missing. NextOrder finds the next order, FastOrder the
// next one that is fast, Matrix writes the matrix out. Cores h are bounded by 2048, which leaves gaps
// below 2 % between orders above 1000.
//
// # The transform
//
// Transform multiplies a vector by H in place and TransformRows does so for every
// row of a matrix; TransformTransposed multiplies by Hᵀ, which differs from H for
// orders from the first construction. TransformDiagonal is H·diag(d) with signs
// and scale applied as the vector is read and zeros appended, the factor of
// structured random features. All are unnormalised, as FFT libraries are: divide
// by √n for the orthogonal transform, by n for the inverse. A length that is not
// an order panics with the next one that is.
//
// A power of two costs k = log₂ n additions an element. In order h·2^k each of h
// contiguous blocks takes k, and then C runs across the blocks: its columns in
// groups of four have only eight combinations up to sign, shared by all rows, so
// that it costs h/4 + 2 and not h − 1. For h = 12 that is 5, where log₂ 12 is
// 3.6; for h = 344 it is 88. The smallest h that gives an order is used.
//
// The stages run in ascending order, 1, 2, 4, …, whatever the implementation, and
// C adds its groups in ascending order. Addition of floating-point numbers is not
// associative, so this is a promise and not a detail: the result has the same
// bits on every machine, vectorised or not, for any number of goroutines. Its
// error is at most a·u·Σ|x_j| in every element to first order, with a the
// additions an element (a = log₂ n for a power of two) and u the unit roundoff
// 2⁻²⁴ or 2⁻⁵³ [Higham 2002, section 24.1 treats the FFT in the same way].
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
// on vectors that are padded with zeros from d to an order d', by default
// FastOrder(d). It is an isometry, RᵀR = I, for any d; for d = d' it is orthogonal.
// Only |H_ij| = 1 and HHᵀ = d'·I matter for what follows, and so all orders serve
// alike, but not at the same cost. Sizes such as 96, 768, 5120 or 14336 have cores up
// to 28 and are nearly as fast as powers of two: FastOrder keeps them. NextOrder saves
// coordinates, and a large core pays for them with time: order 500 is itself a core
// and takes 127 additions a coordinate, FastOrder(500) = 512 takes 9. One factor takes a vector with a single large coordinate to one whose coordinates are all
// of the same size; three make R behave, for most purposes, as a uniformly
// random rotation, of which they are an approximation that costs k·d' bits to
// store instead of d² numbers and k transforms to apply instead of d² products.
//
// Apply and ApplyTransposed work on the rows of a matrix in parallel; the
// second undoes the first. The scale is folded into the signs: two factors
// share 1/d' as a power of two and a rest, so that at least every other factor
// rounds nothing, and all but at most one if d' is a power of two.
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
// Transform and its relatives write their argument. The cores of orders that have
// been used are kept for good, h²/2 bytes each (twice that where C is not
// symmetric), and are shared. A Rotation never changes
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
//   - [Paley 1933] R. E. A. C. Paley: On orthogonal matrices. Journal of
//     Mathematics and Physics 12, 1933.
//   - [Sylvester 1867] J. J. Sylvester: Thoughts on inverse orthogonal matrices,
//     simultaneous sign-successions, and tessellated pavements in two or more
//     colours. Philosophical Magazine 34, 1867.
//   - [Yu et al. 2016] F. X. Yu, A. T. Suresh, K. Choromanski, D.
//     Holtmann-Rice, S. Kumar: Orthogonal random features. NIPS 2016.
package hadamard
