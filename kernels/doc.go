// Package kernels holds exact kernels and their Gram matrices: the values that the random features
// of package rff estimate. A kernel k(x, y) = φ(x)ᵀφ(y) is positive semi-definite: the Gram matrix
// G_ij = k(x_i, x_j) of any points has cᵀGc ≥ 0 for every c. Kernels are functions of
//
//	inner products  DotProduct xᵀy, Softmax exp(γ·xᵀy), Polynomial (γ·xᵀy + c)^p
//	distances       Gaussian, Matern, RationalQuadratic of ‖x−y‖, Laplacian of ‖x−y‖₁
//	angles          Angular 1 − 2θ/π, ArcCosine ‖x‖ⁿ‖y‖ⁿJ_n(θ)/π
//
// Pullback applies a kernel to images of an affine map. Any type of yours with a method Eval(x, y
// []float64) float64 is a Kernel too, and package validate tells whether your kernel is positive
// semi-definite on your points.
//
// A kernel is a small value that never changes: goroutines may share a kernel. The zero value of a
// length-scale, scale, Gamma or Alpha means 1, and a Degree of zero means 3. Check reports
// parameters that are out of range, and Eval and Gram panic with the text of that error. With a
// coordinate that is NaN or infinite the kernel is NaN or ±Inf. docs/references.md has the papers.
package kernels
