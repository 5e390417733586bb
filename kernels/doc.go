// Package kernels holds exact kernels and their Gram matrices: the values that the random features
// of package rff estimate. A kernel k(x, y) = φ(x)ᵀφ(y) is positive semi-definite: the Gram matrix
// G_ij = k(x_i, x_j) of any points has cᵀGc ≥ 0 for every c. Kernels are functions of
//
//	inner products  DotProduct xᵀy, Softmax exp(γ·xᵀy), Polynomial (γ·xᵀy + c)^p
//	distances       Gaussian, Matern, RationalQuadratic of ‖x−y‖, Laplacian of ‖x−y‖₁
//	angles          Angular 1 − 2θ/π, ArcCosine ‖x‖ⁿ‖y‖ⁿJ_n(θ)/π
//
// ELU is the inner product of elu(x)+1 and elu(y)+1. Boxes is for functions with steps. Sum,
// Product, Scaled and Pullback compose kernels, and are positive semi-definite if their parts are.
// Any type of yours with a method Eval(x, y []float64) float64 is a Kernel too, and package
// validate tells whether your kernel is positive semi-definite on your points.
//
// A kernel is a small value that never changes: goroutines may share a kernel. The zero value of a
// length-scale, scale, Gamma or Alpha means 1, and a Degree of zero means 3. Check reports
// parameters that are out of range. Eval and Gram panic with the text of that error, and for points
// of different dimensions. Printing a kernel shows the parameters with defaults filled in. With a
// coordinate that is NaN or infinite the kernel is NaN or ±Inf, even if a limit exists.
// docs/maps.md says how Gram keeps digits of close points; docs/references.md has the papers.
package kernels
