// Package mse holds the exact mean squared errors of random-feature estimates. Measurements are
// compared with these. Plane computes the mean and the variance of any features of independent
// rows, by quadrature. A map of package rff carries its Law, which gives an Error for each ensemble
// of frequencies whose law is known.
//
// # Notation
//
// x, y ∈ R^d are the two points, m is the number of frequencies w, s = xᵀy, p = ‖x+y‖², q = ‖x−y‖²,
// K = exp(−q/2) and S = exp(s) are the Gaussian and the softmax kernel, θ is the angle between x
// and y and u = θ/π. Other length-scales and scales than 1 rescale x and y first. Every Error is
// the mean squared error of φ(x)ᵀφ(y) against the kernel. This error is the variance, because the
// maps are unbiased.
//
// IID rows are independent and N(0, I). Haar rows (orf.GramSchmidt) are Haar-distributed and
// orthogonal in blocks of d, with independent lengths from χ(d), so that each row is N(0, I).
// Simplex rows differ in their angles alone, which have the cosine −1/(d−1) in place of 0. Rows of
// the fixed length √d in place of lengths from χ(d) have a law for the dot product and for signs
// only: estimates of other kernels are biased.
//
// # Blocks
//
// An estimate is the mean of m terms, one for each frequency. Each term has the kernel as
// expectation and the same variance v. Terms of different blocks are independent. Any two terms of
// one block have the same covariance c, since the rows of a block are exchangeable (Haar, or drawn
// without replacement in random order). Frequencies come in ⌊m/b⌋ full blocks of b and one of r = m
// mod b, so
//
//	MSE = v/m + (⌊m/b⌋·b(b−1) + r(r−1))·c/m².
//
// For m ≤ b this is (v + (m−1)c)/m, the usual form of such laws. For L full blocks it is the error
// of one block divided by L.
//
// # Accuracy
//
// The terms of an error cancel where x and y are close together or nearly opposite. The differences
// 1 − e^(−q) and ₁F₁ − e^(2t) are computed without this cancellation; ConfluentExcess says how. The
// quadrature of AngularORF has an error of its own, stated there. A result that rounding takes
// below 0 is 0.
//
// Every law takes points of all sizes that float64 has. Laws add exponents before they take an
// exponential, and keep powers of two separate. So a result is 0 or +Inf only if it is beyond the
// range of float64 itself. The rounding error of an exponent of size e is a relative error of about
// e·1e-16 of the result. Exponents are below 2(‖x‖² + ‖y‖²) + 700 where the result is neither 0 nor
// +Inf.
//
// Coordinates that are NaN or infinite give NaN. Every function panics if x and y differ in length
// or are empty, and if m < 1. For any points it takes O(d) operations and O(√d) terms of a series
// or of a quadrature. Several goroutines may call it at once.
//
// # Sources
//
// Each function names the source of its law. The laws of orthogonal rows for the Gaussian, the
// softmax and the angular kernel are exact for finite d, and so are the laws of simplex rows and of
// Givens products. They follow from the covariance of two rows, which the comments derive. The
// published expansion for large d [Yu et al. 2016] is no substitute at the dimensions of tests.
//
// The full entries are in the References of packages rff and orf, and here:
//
//   - [DLMF] NIST Digital Library of Mathematical Functions, chapters 10, 13, 15.
//   - [Piessens et al. 1983] R. Piessens, E. de Doncker-Kapenga, C. W. Überhuber, D. K. Kahaner.
//     QUADPACK: a subroutine package for automatic integration. Springer.
package mse
