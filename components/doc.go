// Package components finds principal components of features: kernel PCA with the kernel φ(x)ᵀφ(x′).
// It costs n·D² operations in place of n³, and the rows need not fit into memory.
//
//	m, err := components.Fit(ctx, phi, ridge.Block[float64]{X: x}, 10, false)
//	z := m.Transform(dense.Matrix[float64]{}, x) // n×10, uncorrelated columns
//	m.ExplainedVarianceRatio()                   // the share of each component
//
// Rows come from memory, .npy or CSV files, as in package ridge. Rows in parts become ridge.Sums,
// with 0 outputs if there are no targets:
//
//	sums, err := ridge.NewSums(phi, 0)
//	err = sums.Add(part, dense.Matrix[float64]{}, nil) // for each part, on each machine
//	m, err := components.FromSums(ctx, sums, 10, false)
//
// Metric makes a metric of the sums of gradients.
//
// # Kernel PCA
//
// Schölkopf et al. [1998] decompose the centred Gram matrix HKH of n rows, H = I − 11ᵀ/n. For K =
// ΦΦᵀ, its nonzero eigenvalues are those of ΦᵀHΦ, the D×D scatter of the features about their mean
// φ̄. With an eigenvector v of the scatter, and the centred kernel k̃, the component of a point is
//
//	z(x) = vᵀ(φ(x) − φ̄) = Σ_i α_i·k̃(x_i, x)/√λ,  HKHα = λα.
//
// So features with φ(x)ᵀφ(y) = k(x, y), such as those of rff.Quadratic, give the components of k up
// to rounding, and rff.Identity gives ordinary PCA. Random features give the components of the
// estimated Gram matrix. The error of an eigenvalue is at most the spectral norm of H(ΦΦᵀ − K)H,
// which decreases as 1/√D; Lopez-Paz et al. [2014] bound it. The error of a component is large if
// its eigenvalue is close to another.
//
// Names are those of scikit-learn. The eigenvalues_ of its KernelPCA are (n − 1)·ExplainedVariance.
// Signs follow Components, as in its PCA, while in its KernelPCA they follow rows.
//
// A Model is a map. ridge.Fit on a Model is regression on principal components. ridge.Fit from z to
// x replaces inverse_transform.
//
// # Limits
//
//   - A kernel with a too short length-scale has almost equal eigenvalues, and its components have
//     no meaning. Compare ExplainedVarianceRatio for length-scales around ridge.MedianDistance.
//   - Features of float32 are rounded to 2⁻²⁴ of their size, means included. A component with a
//     smaller standard deviation is rounding. If points have large means and small deviations,
//     compose φ with rff.PCA or an rff.Affine by rff.Compose.
//   - A variance below D·2⁻⁵² of the largest is rounding for both types.
//
// # Files
//
// rff.Write writes a model with its map as one safetensors file, and rff.Read reads a *Model. The
// parts are
//
//	map                      Components
//	map.of, …                φ, with the parts that package rff lists
//	map.components           V, r×D, float64
//	map.mean                 φ̄, D numbers
//	map.explainedVariance    σ², r numbers
//	map.totalVariance        variance of all D components
//	map.whiten               true or false
//
// A program that reads the file, also as part of a model of ridge, must import this package.
// testdata/transform.py computes z from files with NumPy.
//
// # References
//
//   - [Lopez-Paz et al. 2014] D. Lopez-Paz, S. Sra, A. Smola, Z. Ghahramani, B. Schölkopf.
//     Randomized nonlinear component analysis. ICML.
//   - [Musco & Musco 2015] C. Musco, C. Musco. Randomized block Krylov methods for stronger and
//     faster approximate singular value decomposition. NeurIPS.
//   - [Radhakrishnan et al. 2024] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism
//     for feature learning in neural networks and backpropagation-free machine learning models.
//     Science 383.
//   - [Schölkopf et al. 1998] B. Schölkopf, A. Smola, K.-R. Müller. Nonlinear component analysis as
//     a kernel eigenvalue problem. Neural Computation 10(5).
package components
