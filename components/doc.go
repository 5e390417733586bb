// Package components finds principal components of features: kernel PCA with the kernel φ(x)ᵀφ(x′),
// at the cost of n·D² in place of n³, for more rows than memory holds.
//
//	m, err := components.Fit(ctx, phi, ridge.Block[float64]{X: x}, 10, false)
//	z := m.Transform(dense.Matrix[float64]{}, x) // n×10, uncorrelated columns
//	m.ExplainedVarianceRatio()                   // the share of each
//
// Rows come from memory, .npy or CSV files as package ridge reads them, or as ridge.Sums that
// merge, of 0 outputs where there are no targets:
//
//	sums, err := ridge.NewSums(phi, 0)
//	err = sums.Add(part, dense.Matrix[float64]{}, nil) // for each part, on each machine
//	m, err := components.FromSums(ctx, sums, 10, false)
//
// # Kernel PCA
//
// Schölkopf et al. [1998] decompose the centred Gram matrix HKH of n rows, H = I − 11ᵀ/n. With K =
// ΦΦᵀ its eigenvalues are those of ΦᵀHΦ, the D×D scatter of the features about their mean φ̄, and
// with an eigenvector v of the scatter the component of a point is
//
//	z(x) = vᵀ(φ(x) − φ̄) = Σ_i α_i·k̃(x_i, x)/√λ,  HKHα = λα,
//
// with the centred kernel k̃. So features with φ(x)ᵀφ(y) = k(x, y), such as those of rff.Quadratic,
// give the components of k to rounding; rff.Identity gives ordinary PCA. For random features
// eigenvalues and components are those of the estimated Gram matrix: eigenvalues are off by at most
// the spectral norm of H(ΦΦᵀ − K)H, which falls as 1/√D. Lopez-Paz et al. [2014] bound it. A
// component is known only as well as its eigenvalue stands apart from others.
//
// Names are scikit-learn's. KernelPCA there has eigenvalues_ = (n − 1)·ExplainedVariance, and signs
// that follow rows, where here they follow Components as in PCA.
//
// A Model is a map itself: ridge.Fit on it is regression on principal components, and ridge.Fit
// from z back to x stands in for inverse_transform.
//
// # What it does not tell
//
//   - A kernel that is too narrow has a flat spectrum, in which components mean nothing: see the
//     shares of ExplainedVarianceRatio, of a few length-scales around ridge.MedianDistance.
//   - Features of float32 are rounded to 2⁻²⁴ of their size, means included. Components with a
//     standard deviation below that are rounding. Points with large means and small spreads lose
//     digits inside φ: put rff.PCA or rff.Affine before it, by rff.Compose.
//   - Variances below D·2⁻⁵² of the largest are rounding for both types.
//
// # Files
//
// A model is one safetensors file with its map: what rff.Write writes for a map of the kind
//
//	map                      Components
//	map.of, …                φ, with the parts that package rff lists
//	map.components           V, r×D, float64
//	map.mean                 φ̄, D numbers
//	map.explainedVariance    σ², r numbers
//	map.totalVariance        variance of all D components
//	map.whiten               true or false
//
// A program that reads it, also inside a model of ridge, has to import this package.
// testdata/transform.py computes z from files with NumPy.
//
// # References
//
//   - [Lopez-Paz et al. 2014] D. Lopez-Paz, S. Sra, A. Smola, Z. Ghahramani, B. Schölkopf.
//     Randomized nonlinear component analysis. ICML.
//   - [Musco & Musco 2015] C. Musco, C. Musco. Randomized block Krylov methods for stronger and
//     faster approximate singular value decomposition. NeurIPS.
//   - [Schölkopf et al. 1998] B. Schölkopf, A. Smola, K.-R. Müller. Nonlinear component analysis as
//     a kernel eigenvalue problem. Neural Computation 10(5).
package components
