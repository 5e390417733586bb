// Package hadamard computes the fast Walsh–Hadamard transform, transforms by other Hadamard
// matrices, the matrices themselves, and random rotations made from them. The package is useful on
// its own: to spread the energy of a vector evenly before the vector is quantised, for sketches,
// and for structured random projections.
//
// # The matrices
//
// A Hadamard matrix H of order n has entries ±1 and H·Hᵀ = n·I: H/√n is orthogonal. For n = 2^k the
// package has Sylvester's matrix, which is symmetric, with the elements (−1)^popcount(i AND j). The
// rows are the Walsh functions in natural order; SequencyOrder lists them by changes of sign.
// Paley's constructions [Paley 1933] give orders h such as 12, 20, 24, 28 and 36, and h·2^k is an
// order too. NextOrder returns the next order, FastOrder the next fast order, Matrix the matrix. h
// is at most 2048, which leaves gaps below 2 % between orders above 1000.
//
// # The transform
//
// Transform computes H·x in place, TransformRows does so for every row of a matrix, and
// TransformTransposed computes Hᵀ·x, which differs for orders q + 1 of Paley's first construction.
// TransformDiagonal computes H·diag(d)·x of a vector that it pads with zeros. A length that is no
// order causes a panic, whose message names the next order. All transforms are unnormalised, as FFT
// libraries are. With x of length n,
//
//	Transform(x), then x[i] /= √n             is orthonormal
//	TransformTransposed(x), then x[i] /= n    is the inverse of Transform
//
// A power of two costs log₂ n additions an element, an order h·2^k about k + h/4 + 2. Sums have a
// fixed order, so results have the same bits on every machine and for any number of goroutines. The
// error of every element is at most a·u·Σ|x_j| to first order, where a is the number of additions
// an element and u is the unit roundoff, 2⁻²⁴ or 2⁻⁵³.
//
// # Rotations
//
// A Rotation is a product R = F_k ⋯ F₂·F₁ of factors F = (1/√d')·H·D with random diagonal matrices
// D of entries ±1. It takes vectors that are padded with zeros from length d to an order d', by
// default FastOrder(d). R is an isometry, RᵀR = I, for any d. With three factors R behaves, for
// most purposes, as a uniformly random rotation. R takes k·d' bits to store and k transforms to
// apply.
//
// Apply rotates the rows of a matrix on several goroutines, and ApplyTransposed undoes Apply.
// ApplyVec and ApplyTransposedVec do the same for one vector, in place if the vector has room for
// the padding. A seed draws the same rotation in every version of this package and on every
// platform, and the results have the same bits. orf.Write writes rotations as parts of
// orf.Hadamard.
//
// docs/frequencies.md has the constructions, the costs of orders, and the laws of rotations.
//
// # NaN and Inf
//
// If an element of x is NaN or ±Inf, no element of H·x is finite. Finite elements whose partial
// sums pass the largest finite number overflow to ±Inf. Partial sums are at most √d' times the norm
// of x.
//
// # Sharing
//
// Goroutines may call the transforms at the same time on disjoint memory. The package keeps the
// Paley matrices of the orders that were used, h²/2 bytes each (h² bytes if not symmetric). Any
// number of goroutines may share a Rotation, which never changes. NewRotation does not keep its
// rand.Source.
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
