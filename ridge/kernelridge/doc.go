// Package kernelridge fits kernel ridge regression with the kernel itself, on all rows: for up to
// about 100,000 rows, where features or landmarks would lose accuracy because a kernel is narrow.
//
// For rows x_i with targets y_i and weights ω_i, the prediction is
//
//	f(x) = b + Σ_i a_i·k(x, x_i),  (K + λ·Ω⁻¹)·a = y − b·1,  1ᵀa = 0,
//
// the minimiser of Σ_i ω_i·(y_i − f(x_i))² + λ·‖f − b‖² in the space of k, and the mean of a
// Gaussian process with the variance σ²/ω_i of noise and the covariance s²·k for λ = σ²/s². Fit
// takes preconditioned conjugate gradients, whose steps compute K in tiles; Choose and Scales find
// the kernel, its length-scales and λ by errors at rows left out.
//
// The error of a function reports nil kernels and sources, NaN and infinite numbers, shapes that do
// not fit, options out of range, sizes beyond memory, and the end of ctx; functions panic if ctx is
// nil. docs/regression.md has the method, its cost, and the references.
package kernelridge
