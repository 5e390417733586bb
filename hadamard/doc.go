// Package hadamard computes the fast Walsh–Hadamard transform, transforms by other Hadamard
// matrices, the matrices themselves, and random rotations made from them. The package is useful on
// its own: to spread the energy of a vector evenly before the vector is quantised, for sketches,
// and for structured random projections.
//
// # The matrices
//
// A Hadamard matrix of order n has entries ±1 and H·Hᵀ = n·I: H/√n is orthogonal. Sylvester's
// matrix, of order n = 2^k, is
//
//	H₁ = [1],  H₂ₙ = [ Hₙ  Hₙ ]
//	                 [ Hₙ −Hₙ ]
//
// Sylvester's matrix is symmetric, so that H/√n is its own inverse. Element (i, j) is
// (−1)^popcount(i AND j): the rows are the Walsh functions in natural order. SequencyOrder lists
// them in the order of signal processing, by their changes of sign.
//
// The rows of Hadamard matrices of other orders are not Walsh functions. Paley constructed such
// matrices from finite fields [Paley 1933]. Let χ be the quadratic character
// of the field GF(q), q a power of an odd prime: 1 at squares, −1 at other elements, 0 at 0.
// Bordered by ones, the matrix Q_ab = χ(a − b) gives an S with SSᵀ = qI, and then
//
//	q ≡ 3 (mod 4):  I + S                                 of order q + 1
//	q ≡ 1 (mod 4):  S ⊗ [ 1  1 ] + I ⊗ [  1 −1 ]          of order 2(q + 1)
//	                    [ 1 −1 ]       [ −1 −1 ]
//
// are Hadamard matrices, of orders 12, 20, 24, 28, 36, 44, 48, 52, 60, 68, …. The second is
// symmetric. If C has such an order h, C ⊗ H_2^k has order h·2^k: 1000 = 500·2 is one. Among the
// multiples of 4 up to 100 only 92 is missing. NextOrder returns the next order, FastOrder the next
// fast order, Matrix the matrix. h is at most 2048, which leaves gaps below 2 % between orders
// above 1000.
//
// # The transform
//
// Transform multiplies a vector by H in place, and TransformRows multiplies every row of a matrix.
// TransformTransposed multiplies by Hᵀ, which differs from H for orders of the first construction.
// TransformDiagonal multiplies by H·diag(d) and pads the vector with zeros; structured random
// features consist of such factors. A length that is no order causes a panic, whose message names
// the next order.
//
// All transforms are unnormalised, as FFT libraries are. With x of length n = len(x),
//
//	Transform(x), then x[i] /= √n             is orthonormal
//	TransformTransposed(x), then x[i] /= n    is the inverse of Transform
//
// and for a power of two Transform may stand for TransformTransposed.
//
// A power of two costs k = log₂ n additions an element. In order h·2^k each of h contiguous blocks
// takes k additions an element, and C then runs across the blocks. Four columns of C have only
// eight combinations up to sign, which all rows share, so that C costs h/4 + 2 additions an element
// instead of h − 1: 5 for h = 12 (log₂ 12 is 3.6), 88 for h = 344. Transform uses the smallest h
// that fits an order.
//
// The stages run in ascending order, 1, 2, 4, …, in every implementation, and C adds its groups in
// ascending order. Floating-point addition is not associative, and this order gives the result the
// same bits on every machine, with vector instructions or without, for any number of goroutines.
// The error of every element is at most a·u·Σ|x_j| to first order, where a is the number of
// additions an element (log₂ n for a power of two) and u is the unit roundoff, 2⁻²⁴ or 2⁻⁵³ [Higham
// 2002, section 24.1 treats the FFT in the same way].
//
// # Rotations
//
// H/√n is a fixed matrix. F = (1/√d')·H·D with a random D = diag(±1) flips each coordinate with
// probability ½ and then mixes all coordinates. A Rotation is a product of k such factors,
//
//	R = F_k ⋯ F₂·F₁
//
// of vectors that are padded with zeros from length d to an order d', by default FastOrder(d). R is
// an isometry, RᵀR = I, for any d. For d = d' it is orthogonal. The law of R depends on |H_ij| = 1
// and HHᵀ = d'·I alone: all orders serve equally well, at different costs. Orders such as 96, 768,
// 5120 and 14336 have h up to 28 and are nearly as fast as powers of two, and FastOrder returns
// them. NextOrder pads less and may cost far more time: order 500 has h = 500 and takes 127
// additions a coordinate, FastOrder(500) = 512 takes 9.
//
// One factor maps a vector with a single large coordinate to a vector whose coordinates all have
// the same size. With three factors R behaves, for most purposes, as a uniformly random rotation. R
// takes k·d' bits to store instead of d² numbers, and k transforms to apply instead of d² products.
//
// Apply rotates the rows of a matrix on several goroutines, and ApplyTransposed undoes Apply.
// ApplyVec and ApplyTransposedVec do the same for one vector, in place if the vector has room for
// the padding. The scale is stored with the signs. Two matrix factors share the scale 1/d': the
// scale of one factor is a power of two, and the scale of the other is the quotient. A product with
// a power of two has no rounding error, so at least every other scale adds no rounding error. If d'
// is a power of two, at most one scale does.
//
// A seed draws the same rotation in every version of this package and on every platform, and the
// results have the same bits. So a seed beside an index that is built on the rotation stores the
// rotation. orf.Write writes rotations as parts of orf.Hadamard.
//
// # NaN and Inf
//
// Every element of H·x depends on every element of x. If an element of x is NaN or ±Inf, no element
// of H·x is finite. Finite elements whose partial sums pass the largest finite number overflow to
// ±Inf. Partial sums are at most √d' times the norm of the vector.
//
// # Sharing
//
// Goroutines may call the transforms at the same time on disjoint memory. The package keeps the
// matrices C of the orders that were used, h²/2 bytes each (h² bytes if C is not symmetric). Any
// number of goroutines may share a Rotation, which never changes. NewRotation does
// not keep its rand.Source.
//
// # References
//
//   - [Ailon and Chazelle 2006] N. Ailon, B. Chazelle: Approximate nearest neighbors and the fast
//     Johnson–Lindenstrauss transform. STOC 2006.
//   - [Fino and Algazi 1976] B. J. Fino, V. R. Algazi: Unified matrix treatment of the fast
//     Walsh–Hadamard transform. IEEE Transactions on Computers C-25(11), 1976.
//   - [Higham 2002] N. J. Higham: Accuracy and Stability of Numerical Algorithms, 2nd edition. SIAM
//     2002.
//   - [Paley 1933] R. E. A. C. Paley: On orthogonal matrices. Journal of Mathematics and Physics
//     12, 1933.
//   - [Sylvester 1867] J. J. Sylvester: Thoughts on inverse orthogonal matrices, simultaneous
//     sign-successions, and tessellated pavements in two or more colours. Philosophical Magazine
//     34, 1867.
//   - [Yu et al. 2016] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar:
//     Orthogonal random features. NIPS 2016.
package hadamard
