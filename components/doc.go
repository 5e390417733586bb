// Package components finds principal components of features: kernel PCA with the kernel φ(x)ᵀφ(x′)
// [Schölkopf et al. 1998], in n·D² operations in place of n³. The rows need not fit into memory.
//
//	m, err := components.Fit(ctx, phi, ridge.Block[float64]{X: x}, 10, false)
//	z := m.Transform(dense.Matrix[float64]{}, x) // n×10, uncorrelated columns
//	m.ExplainedVarianceRatio()                   // the share of each component
//
// Rows come from memory, .npy or CSV files, as in package ridge. Rows in parts become ridge.Sums
// with 0 outputs, for FromSums. A Model is a feature map: ridge.Fit on a Model is regression on
// principal components, and rff.Write and rff.Read store a Model. Metric computes a distance from
// gradients of functions, in which a difference counts as much as the functions vary along its
// direction. Page docs/learning.md has the law, the limits and the parts of a file.
//
// Functions return an error for sums that are nil or not finite, for eigenvalues that do not
// converge, and at the end of ctx. Functions panic if ctx is nil.
//
// # References
//
//   - [Musco & Musco 2015] Randomized block Krylov methods for stronger and faster approximate
//     singular value decomposition. NeurIPS.
//   - [Radhakrishnan et al. 2024] Mechanism for feature learning in neural networks and
//     backpropagation-free machine learning models. Science 383.
//   - [Schölkopf et al. 1998] Nonlinear component analysis as a kernel eigenvalue problem. Neural
//     Computation 10(5).
package components
