// Package hypothesis tests whether two samples have one distribution, and whether two variables are
// independent, with the features of any map of package rff, in time that is linear in the number of
// rows.
//
//	r, err := hypothesis.TwoSample(ctx, phi, x, y, hypothesis.Options{}, src)       // MMD
//	r, err = hypothesis.Independence(ctx, phi, psi, x, y, hypothesis.Options{}, src) // HSIC
//	r.P                                                                             // small if they differ
//
// # What is tested
//
// The mean of features φ̄ is an estimate of the mean embedding of a distribution with the kernel
// φ(x)ᵀφ(y). TwoSample compares those of two samples: the squared distance of the means is the
// maximum mean discrepancy MMD² [Gretton et al. 2012], which takes (m + n)² evaluations of a kernel
// otherwise. With random features it is the statistic of Zhao & Meng [2015]. Independence compares
// the covariance of φ(x) and ψ(y) with 0: its squared Frobenius norm is the Hilbert–Schmidt
// independence criterion HSIC [Gretton et al. 2005]. rff.Identity compares means, and covariances
// of columns; random features of a Gaussian kernel see any difference that is large enough beside
// the length-scale and the noise.
//
// # What the p-value says
//
// p-values come from permutations and are exact for every number of rows, features and draws: if
// the hypothesis holds, p ≤ α has the probability α at most, and α for α = k/(1 + B) where
// permutations do not tie. The data count as a draw [Phipson & Smyth 2010]. Ties, which rounding
// does not tell apart, count against a rejection. Asymptotic laws, sums of weighted χ² variables,
// would be right for many rows only, and draws are cheap: sums over rows are formed once, for cells
// of rows, and a draw moves cells. A set of permutations that is a group, as these are, is as exact
// as all permutations [Hemerik & Goeman 2018].
//
// This needs rows that are exchangeable, as independent rows are, and features that do not know the
// sample of a row: drawn without the rows, or from all rows alike. For a length-scale that is
// ridge.MedianDistance of x and y in one matrix, as for landmarks that are drawn from both
// uniformly. Several tests, of several length-scales for example, need a correction, such as P
// times their number.
//
// # Features and power
//
// Tests with D = 100 and more features of the median distance found differences of 100 rows as
// often as the exact test with the kernel: docs/learning.md has the table. Fewer features are as
// valid and find less. MMD with D features of one draw is blind to what they do not see.
//
// # Where it fails
//
//   - Rows that depend on their neighbours, such as time series, are not exchangeable: both tests
//     reject far too often. For two samples cells of consecutive rows help, much longer than the
//     dependence: NewCells with that size, and Add one cell at a time. Rows by the day or the
//     patient, which are alike inside, are cells as well.
//   - Add shuffles the rows of a call. Rows that are sorted from call to call end up in cells that
//     differ more than rows do, and the test finds less than it should.
//   - A length-scale far too short finds nothing, one far too long finds differences of means
//     alone.
//   - A discrepancy in few of many columns drowns in the distances of all: test these columns, or
//     scale columns.
//   - Few rows have few permutations: 3 and 3 rows have 20 divisions, each as good as its mirror
//     image, and no p-value below 0.1. No p-value at all is below 1/(1 + B).
//   - float32 rounds points with a large mean before any feature sees them.
//   - Features smaller than 10⁻¹⁵⁰ have squares of 0, and the p-value is 1.
//
// NaN and infinite elements and features are errors.
//
// # More rows than memory
//
// Cells hold what TwoSample needs. They travel as bytes, and those of different files and machines
// merge. Some hundred cells of each sample have the power of all rows:
//
//	c, err := hypothesis.NewCells(phi, 1000, 500) // up to 500 cells of 1000 rows
//	err = c.Add(part, src)                        // for each part
//	err = c.Merge(other)                          // of each machine
//	r, err := hypothesis.Compare(ctx, c, d, 999, src)
//
// Independence needs its rows twice and takes them
// in memory; it is valid for a random part of the rows.
//
// # References
//
//   - [Chan et al. 1983] T. F. Chan, G. H. Golub, R. J. LeVeque. Algorithms for computing the
//     sample variance. The American Statistician 37.
//   - [Gretton et al. 2005] A. Gretton, O. Bousquet, A. Smola, B. Schölkopf. Measuring statistical
//     dependence with Hilbert–Schmidt norms. ALT.
//   - [Gretton et al. 2007] A. Gretton, K. Fukumizu, C. H. Teo, L. Song, B. Schölkopf, A. J. Smola.
//     A kernel statistical test of independence. NeurIPS.
//   - [Gretton et al. 2012] A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola. A
//     kernel two-sample test. JMLR 13.
//   - [Hemerik & Goeman 2018] J. Hemerik, J. Goeman. Exact testing with random permutations. TEST
//     27.
//   - [Massart 1990] P. Massart. The tight constant in the Dvoretzky–Kiefer–Wolfowitz inequality.
//     Annals of Probability 18(3).
//   - [Phipson & Smyth 2010] B. Phipson, G. K. Smyth. Permutation P-values should never be zero.
//     Statistical Applications in Genetics and Molecular Biology 9(1).
//   - [Song et al. 2012] L. Song, A. Smola, A. Gretton, J. Bedo, K. Borgwardt. Feature selection
//     via dependence maximization. JMLR 13.
//   - [Zhao & Meng 2015] J. Zhao, D. Meng. FastMMD: ensemble of circular discrepancy for efficient
//     two-sample test. Neural Computation 27(6).
package hypothesis
