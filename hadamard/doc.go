// Package hadamard computes the fast Walsh–Hadamard transform, its matrices, and random rotations
// made from it. It is useful on its own: to spread the energy of a vector evenly before quantising
// it, to sketch, or to draw structured random projections.
//
// # The matrices
//
// A Hadamard matrix of order n has entries ±1 and H·Hᵀ = n·I: H/√n is orthogonal. Sylvester's
// matrix, of order n = 2^k, is
//
//	H₁ = [1],  H₂ₙ = [ Hₙ  Hₙ ]
//	                 [ Hₙ −Hₙ ]
//
// It is symmetric, so H/√n is its own inverse. Entry (i, j) is (−1)^popcount(i AND j): the rows are
// Walsh functions in natural order. Sequency reorders a transformed vector by the number of sign
// changes of the rows, 0, 1, 2, …, and Natural undoes it.
//
// Paley constructed matrices of other orders from finite fields [Paley 1933]. Let χ be the
// quadratic character of the field GF(q), q a power of an odd prime: 1 at squares, −1 at other
// elements, 0 at 0. Bordered by ones, the matrix Q_ab = χ(a − b) gives an S with SSᵀ = qI, and then
//
//	q ≡ 3 (mod 4):  I + S                                 of order q + 1
//	q ≡ 1 (mod 4):  S ⊗ [ 1  1 ] + I ⊗ [  1 −1 ]          of order 2(q + 1)
//	                    [ 1 −1 ]       [ −1 −1 ]
//
// are Hadamard matrices: 12, 20, 24, 28, 36, 44, 48, 52, 60, 68, …; the second is
// symmetric. With C of such an order h, C ⊗ H_2^k has order h·2^k. Among the multiples of 4 up to
// 100 only 92 is missing. NextOrder finds the next order, FastOrder the next fast order, Matrix
// writes the matrix out. h is at most 2048, which leaves gaps below 2 % between orders above 1000.
//
// # The transform
//
// Transform multiplies a vector by H in place and TransformRows does so for every row of a matrix;
// TransformTransposed multiplies by Hᵀ, which differs from H for orders from the first
// construction. TransformDiagonal is H·diag(d) with signs and scale applied as the vector is read
// and zeros appended, the factor of structured random features. All are unnormalised, as FFT
// libraries are: divide by √n for the orthogonal transform, by n for the inverse. A length that is
// not such an order causes a panic that names the next order.
//
// A power of two costs k = log₂ n additions per element. In order h·2^k each of h contiguous blocks
// takes k, and then C runs across the blocks: four columns of C have only eight combinations up to
// sign, which all rows share. C costs h/4 + 2 additions per element instead of h − 1: 5 for h = 12
// (log₂ 12 is 3.6), 88 for h = 344. The smallest h that gives an order is used.
//
// The stages run in ascending order, 1, 2, 4, …, whatever the implementation, and C adds its groups
// in ascending order. Addition of floating-point numbers is not associative: the order gives the
// result the same bits on every machine, vectorised or not, for any number of goroutines. The error
// of every element is at most a·u·Σ|x_j| to first order, where a is the number of additions per
// element (a = log₂ n for a power of two) and u the unit roundoff 2⁻²⁴ or 2⁻⁵³ [Higham 2002,
// section 24.1 treats the FFT in the same way].
//
// # Rotations
//
// H/√n is a fixed matrix. Random signs make it random: F = (1/√d')·H·D with D = diag(±1) flips each
// coordinate with probability ½ and then mixes all of them. A Rotation is a product of k such
// factors,
//
//	R = F_k ⋯ F₂·F₁
//
// on vectors that are padded with zeros from d to an order d', by default FastOrder(d). R is an
// isometry, RᵀR = I, for any d; for d = d' it is orthogonal. The law of R depends on |H_ij| = 1 and
// HHᵀ = d'·I alone: all orders serve equally well, at different costs. Sizes such as 96, 768, 5120
// or 14336 have h up to 28 and are nearly as fast as powers of two: FastOrder keeps them. NextOrder
// saves coordinates and may take far more time: order 500 has h = 500 and takes 127 additions per
// coordinate, FastOrder(500) = 512 takes 9.
//
// One factor takes a vector with a single large coordinate to a vector whose coordinates all have
// the same size. Three make R behave, for most purposes, as a uniformly random rotation; they cost
// k·d' bits to store instead of d² numbers, and k transforms to apply instead of d² products.
//
// Apply and ApplyTransposed work on the rows of a matrix in parallel; the second undoes the first.
// ApplyVec and ApplyTransposedVec do the same for one vector, in place if there is room for the
// padding: what a vector database does with a query. The scale is stored with the signs: two
// factors share 1/d', one as a power of two and the other as the remaining factor. So at least
// every other factor rounds nothing, and if d' is a power of two at most one factor rounds.
//
// A seed draws the same rotation in every version of this package and on every platform, and the
// results have the same bits. MarshalBinary stores a rotation in about a bit per sign, for the life
// of an index that is built on it, whatever the seed was.
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
// Transform and its relatives write their argument. The matrices C of orders in use are kept for
// good, h²/2 bytes each (h² bytes where C is not symmetric), and are shared. A Rotation changes
// only in UnmarshalBinary; any number of goroutines may use it. Randomness comes from the
// rand.Source given to NewRotation, which is not kept.
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
