// Package mse holds the exact mean squared errors of random-feature estimates, and the exact mean
// of one that is biased: what measurements are compared with. Plane has the mean and the variance
// of any features of independent rows, by quadrature. A map of package rff carries its Law, which
// is an Error over each ensemble of frequencies that has one.
//
// # Notation
//
// x, y ∈ R^d are the two points, m is the number of frequencies w, s = xᵀy, p = ‖x+y‖², q = ‖x−y‖²,
// K = exp(−q/2) and S = exp(s) are the Gaussian and the softmax kernel, θ is the angle between x
// and y and u = θ/π. Length-scales and scales other than 1 are a matter of rescaling x and y first.
// Every Error is the mean squared error of φ(x)ᵀφ(y) against the kernel, which is its variance
// because the maps are unbiased, unless they say otherwise.
//
// IID rows are independent and N(0, I). Haar rows (orf.GramSchmidt) are Haar-distributed and
// orthogonal in blocks of d, with independent lengths from χ(d), so that each row is N(0, I).
// Simplex rows are such rows but for their angles, which have the cosine −1/(d−1) in place of 0.
//
// # Blocks
//
// An estimate is the mean of m terms, one a frequency, each with the kernel as expectation and with
// the same variance v. Terms of different blocks are independent; any two terms of one block have
// the same covariance c, since the rows of a block are exchangeable (Haar, or drawn without
// replacement in random order, or with a random permutation between them, in Fastfood). Frequencies
// come in ⌊m/b⌋ full blocks of b and one of r = m mod b, so
//
//	MSE = v/m + (⌊m/b⌋·b(b−1) + r(r−1))·c/m².
//
// For m ≤ b that is (v + (m−1)c)/m, the form in which such laws are usually written, and for L full
// blocks the error of one of them divided by L.
//
// # Accuracy
//
// Errors are sums of terms that cancel where x and y are close together or nearly opposite.
// Differences 1 − e^(−q) and ₁F₁ − e^(2t) are computed without that cancellation, as
// ConfluentExcess says, and the quadrature of AngularORF has an error of its own, stated there.
// What rounding takes below 0 is 0.
//
// Every law takes points of all sizes that float64 has. Exponents are added before an exponential
// is taken, and powers of two stand aside, so that a result is 0 or +Inf only if it is beyond the
// range of float64 itself. Exponents of size e have a rounding error of their own, which is a
// relative error of about e·1e-16 of the result; they are below 2(‖x‖² + ‖y‖²) + 700 where that is
// neither 0 nor +Inf.
//
// Coordinates that are NaN or infinite give NaN. Every function panics if x and y differ in length
// or are empty and if m < 1, takes O(d) operations and those of O(√d) terms of a series or of a
// quadrature, whatever the points are, and may be called by several goroutines at once.
//
// # Sources
//
// Each function names where its law was published. The laws of orthogonal rows for the Gaussian,
// the softmax and the angular kernel, those of simplex rows, and those of Givens and Fastfood
// products, are exact for finite d; they follow from the covariance of two rows, as the comments
// derive it. Those of products and convolutions of sketches follow from the moments of one factor.
// The published expansion for large d [Yu et al. 2016] is no substitute at the dimensions of tests.
//
//   - [Cho & Saul 2009] Y. Cho, L. K. Saul. Kernel methods for deep learning. NIPS.
//   - [Choromanski et al. 2021] K. Choromanski et al. Rethinking attention with Performers. ICLR.
//   - [Choromanski, Rowland & Weller 2017] K. Choromanski, M. Rowland, A. Weller. The unreasonable
//     effectiveness of structured random orthogonal embeddings. NIPS.
//   - [Choromanski et al. 2022] K. Choromanski et al. Hybrid random features. ICLR.
//   - [Demni & Kadri 2024] N. Demni, H. Kadri. Orthogonal random features: explicit forms and sharp
//     inequalities.
//   - [DLMF] NIST Digital Library of Mathematical Functions, chapters 10, 13, 15.
//   - [Kar & Karnick 2012] P. Kar, H. Karnick. Random feature maps for dot product kernels.
//     AISTATS.
//   - [Le, Sarlós & Smola 2013] Q. Le, T. Sarlós, A. Smola. Fastfood – approximating kernel
//     expansions in loglinear time. ICML.
//   - [Likhosherstov et al. 2022] V. Likhosherstov, K. Choromanski, A. Dubey, F. Liu, T. Sarlos, A.
//     Weller. Chefs' random tables: non-trigonometric random features. NeurIPS.
//   - [Likhosherstov et al. 2023] V. Likhosherstov, K. Choromanski, A. Dubey, F. Liu, T. Sarlos, A.
//     Weller. FAVOR#: sharp attention kernel approximations via new classes of positive random
//     features.
//   - [Piessens et al. 1983] R. Piessens, E. de Doncker-Kapenga, C. W. Überhuber, D. K. Kahaner.
//     QUADPACK: a subroutine package for automatic integration. Springer.
//   - [Reid et al. 2023] I. Reid, K. Choromanski, V. Likhosherstov, A. Weller. Simplex random
//     features. ICML.
//   - [Sutherland & Schneider 2015] D. J. Sutherland, J. Schneider. On the error of random Fourier
//     features. UAI.
//   - [Yu et al. 2016] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar.
//     Orthogonal random features. NIPS.
package mse
