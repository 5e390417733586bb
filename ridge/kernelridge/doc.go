// Package kernelridge fits kernel ridge regression with the kernel itself, on all rows: for up to about
// 100,000 rows, where features or landmarks would lose accuracy because a kernel is narrow.
//
// # Model
//
// For rows x_i with targets y_i and weights ω_i, the prediction is
//
//	f(x) = b + Σ_i a_i·k(x, x_i),  (K + λ·Ω⁻¹)·a = y − b·1,  1ᵀa = 0,
//
// the minimiser of Σ_i ω_i·(y_i − f(x_i))² + λ·‖f − b‖² in the space of k. It is the mean of a
// Gaussian process with the variance σ²/ω_i of noise and the covariance s²·k for λ = σ²/s².
//
// # Method
//
// Fit solves the system with A = Ω^½KΩ^½ + λI by conjugate gradients, for all targets and the
// constant b at once. A step multiplies A by a vector for each of them. It computes K in tiles of
// rows that stay in a cache, each pair of rows once, or keeps K in float32 if Options.Memory allows.
// Iterations take float32 products. Residuals, which decide when Fit stops, take float64 products of
// float64 kernels, and steps begin anew from them: iterative refinement. So the accuracy is that of
// float64 even for a small λ.
//
// The preconditioner is FFᵀ + ρI, where FFᵀ ≈ Ω^½KΩ^½ has the Options.Rank landmarks that randomly
// pivoted Cholesky factorisation chooses [Díaz, Epperly, Frangella, Tropp & Webber 2023]. The number
// of steps hardly depends on the number of rows if λ is above the eigenvalue of K of that rank.
//
// # Errors at rows left out
//
// The error of the prediction for row i by a fit of the other rows is (A⁻¹Ω^½(y − b))_i / (A⁻¹)_ii,
// over √ω_i. The diagonal of A⁻¹ is that of the inverse preconditioner, which is known, plus the mean
// of z ⊙ (A⁻¹ − P⁻¹)z over Options.Probes random signs z [Hutchinson 1989]. Fit solves for the probes
// together with the targets.
//
// # Cost
//
// A step takes n²·(d + 2c)/2 multiply-adds and n²/2 values of the kernel for c = targets + probes +
// 1, and n²·c/2 multiply-adds and the time to read 2n² bytes with a K in memory. The preconditioner
// takes n·r² for r = Rank, and each step n·r·c. Memory is 8·n·(r + 8c) bytes besides the rows.
//
// # References
//
//   - [Díaz, Epperly, Frangella, Tropp & Webber 2023] M. Díaz, E. N. Epperly, Z. Frangella, J. A.
//     Tropp, R. J. Webber: Robust, randomized preconditioning for kernel ridge regression.
//     arXiv:2304.12465.
//   - [Hutchinson 1989] M. F. Hutchinson: A stochastic estimator of the trace of the influence matrix
//     for Laplacian smoothing splines. Communications in Statistics – Simulation 18.
package kernelridge
