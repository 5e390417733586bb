// Package components finds principal components of features: kernel PCA with the kernel φ(x)ᵀφ(x′)
// [Schölkopf et al. 1998], in n·D² operations for n rows of D features.
//
//	m, err := components.Fit(ctx, phi, ridge.Block[float64]{X: x}, 10, false)
//	z := m.Transform(dense.Matrix[float64]{}, x) // n×10, uncorrelated columns
//	m.ExplainedVarianceRatio()                   // the share of each component
//
// A Model is a feature map: ridge.Fit on a Model is regression on principal components. The error
// of a function reports sums that are nil or not finite, eigenvalues that do not converge, and the
// end of ctx; a nil ctx panics.
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
