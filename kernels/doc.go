// Package kernels holds exact kernels and their Gram matrices: the values that the random features
// of package rff estimate.
//
// # Kernels
//
// A kernel is a symmetric function k(x, y) of two points of R^d that is an inner product in some
// space, k(x, y) = φ(x)ᵀφ(y). Equivalently it is positive semi-definite: for any points x_1 … x_n
// the Gram matrix G_ij = k(x_i, x_j) has cᵀGc ≥ 0 for every c; positive definite if cᵀGc > 0
// whenever the points are distinct and c is not 0 [Schölkopf & Smola 2002].
//
// There are three families, which are functions of different quantities:
//
//	inner product   DotProduct xᵀy, Softmax exp(γ·xᵀy), Polynomial (γ·xᵀy + c)^p
//	distance        Gaussian, Matern, RationalQuadratic of ‖x−y‖, Laplacian of ‖x−y‖₁
//	angle           Angular 1 − 2θ/π, ArcCosine ‖x‖ⁿ‖y‖ⁿJ_n(θ)/π
//
// ELU is the inner product of elu(x)+1 and elu(y)+1. Boxes is for functions with steps. Sum,
// Product and Scaled compose kernels. Pullback applies a kernel to the images of an affine map. Any
// type of yours with a method
//
//	Eval(x, y []float64) float64
//
// is a Kernel too. Package validate tells whether it is positive semi-definite on your points.
//
// # Parameters
//
// Kernels are small values. The zero value of a length-scale, scale, Gamma or Alpha means 1, and
// that of a Degree 3, so Gaussian{} is exp(−‖x−y‖²/2). Kernels made of other kernels, such as
// Scaled, have no such values: Check names the field to set. Length-scales are in units of x. Check
// reports parameters out of range as an error. Eval and Gram panic with the text of that error,
// because their callers cannot handle errors. Printing a kernel shows its parameters, with defaults
// filled in.
//
// # Gram matrices
//
// Gram fills the matrix of all pairs of two sets of points, or of one set with itself, in float32
// or float64. Kernels that depend on inner products and norms alone take one matrix product,
// O(npd), and O(1) work for each element. The documentation of Gram states the error.
//
// The terms of ‖x−y‖² = ‖x‖² + ‖y‖² − 2xᵀy cancel if the distance of two points is small compared
// with their distance from the origin. The arccosine of a cosine loses half of its digits next to 0
// and π. Gram finds such pairs and evaluates them directly, from squared differences and by Kahan's
// formula θ = 2·atan2(‖u−v‖, ‖u+v‖) for unit vectors u and v [Kahan 2006]. No value is clamped, so
// that NaN stays NaN.
//
// With a coordinate that is NaN or infinite the kernel is NaN or ±Inf, even if a limit exists.
//
// # Sharing
//
// Kernels never change and may be used by several goroutines at once. Gram only reads its points.
//
// # References
//
//   - [Charikar 2002] M. Charikar. Similarity estimation techniques from rounding algorithms. STOC.
//   - [Cho & Saul 2009] Y. Cho, L. K. Saul. Kernel methods for deep learning. NIPS.
//   - [Choromanski et al. 2021] K. Choromanski et al. Rethinking attention with Performers. ICLR.
//   - [Kahan 2006] W. Kahan. How futile are mindless assessments of roundoff in floating-point
//     computation? §12.
//   - [Katharopoulos et al. 2020] A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret. Transformers
//     are RNNs. ICML.
//   - [Rahimi & Recht 2007] A. Rahimi, B. Recht. Random features for large-scale kernel machines.
//     NIPS.
//   - [Rasmussen & Williams 2006] C. E. Rasmussen, C. K. I. Williams. Gaussian Processes for
//     Machine Learning. MIT Press.
//   - [Schölkopf & Smola 2002] B. Schölkopf, A. J. Smola. Learning with Kernels. MIT Press.
package kernels
