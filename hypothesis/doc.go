// Package hypothesis tests whether two samples have one distribution, and whether two variables are
// independent, with the features of any map of package rff, in time that is linear in the number of
// rows.
//
//	r, err := hypothesis.TwoSample(ctx, phi, x, y, hypothesis.Options{}, src)       // MMD
//	r, err = hypothesis.Independence(ctx, phi, psi, x, y, hypothesis.Options{}, src) // HSIC
//	r.P                                                                             // small if they differ
//
// # Statistics of the tests
//
// The mean φ̄ of the features of a sample estimates the mean embedding of its distribution with the
// kernel φ(x)ᵀφ(y). TwoSample compares the mean features of two samples. The squared distance of
// two mean features is the maximum mean discrepancy MMD² [Gretton et al. 2012], which takes (m +
// n)² evaluations of a kernel without features. With random features MMD² is the statistic of Zhao
// & Meng [2015]. Independence compares the covariance of φ(x) and ψ(y) with 0. The squared
// Frobenius norm of the covariance is the Hilbert–Schmidt independence criterion HSIC [Gretton et
// al. 2005]. With rff.Identity the tests compare means, and covariances of columns. Random features
// of a Gaussian kernel find differences of any kind, if the differences are large compared with the
// length-scale and the noise.
//
// # Meaning of the p-value
//
// p-values come from permutations and are exact for every number of rows, features and draws.
// If the hypothesis holds, P(p ≤ α) ≤ α, with equality for α = k/(1 + B) if no two permutations
// tie. The data count as one draw [Phipson & Smyth 2010]. A draw whose statistic equals that of the
// data up to rounding counts as a tie, and ties make the p-value larger. Asymptotic laws, which are
// sums of weighted χ² variables, hold for many rows only. Permutations are cheap: a test computes
// the sums over the rows of each cell once, and a draw permutes cells. The permutations of cells
// form a group, and a group of permutations gives a test as exact as all permutations do [Hemerik &
// Goeman 2018].
//
// The rows must be exchangeable, as independent rows are. The features must not depend on which
// sample a row belongs to: draw the map without the rows, or fit the map to the rows of both
// samples together. For example, the length-scale may be ridge.MedianDistance of the rows of x and
// y in one matrix, and landmarks may be drawn uniformly from the rows of both. Several tests, for
// example with several length-scales, need a correction: multiply P by their number.
//
// # Features and power
//
// With 100 or more features of the median distance, the tests found differences between samples of
// 100 rows as often as the exact test with the kernel did. docs/learning.md has the table. A test
// with fewer features is as valid, and finds fewer differences. The MMD with D features of one draw
// misses a difference that does not change the mean of these features.
//
// # Where the tests fail
//
//   - Rows that depend on their neighbours, such as rows of time series, are not exchangeable. Both
//     tests reject far too often. For two samples use cells of consecutive rows that are much
//     longer than the dependence: call NewCells with that size, and Add with one cell at a time.
//     Groups of similar rows, such as the rows of one day or of one patient, can be cells as well.
//   - Add shuffles the rows of one call. If the rows are sorted from call to call, the cells differ
//     more than single rows do, and the test finds fewer differences than it should.
//   - With a length-scale that is far too short the tests find nothing. With a length-scale that is
//     far too long they find differences of means only.
//   - The distances of all columns hide a difference in a few of many columns. Test the few columns
//     alone, or scale them up.
//   - Few rows have few permutations. Two samples of 3 rows have 20 divisions, each as good as its
//     mirror image, so that no p-value is below 0.1. No p-value is below 1/(1 + B).
//   - float32 rounds points with a large mean before their features are computed.
//   - Features smaller than 10⁻¹⁵⁰ have squares of 0, and the p-value is 1.
//
// Tests return an error if an element or a feature is NaN or infinite.
//
// # Samples larger than memory
//
// Cells holds the mean features of groups of rows. A test with some hundred cells of each sample
// has the power of a test with all rows:
//
//	c, err := hypothesis.NewCells(phi, 1000, 500) // up to 500 cells of 1000 rows
//	err = c.Add(part, src)                        // for each part of the rows
//	err = c.Merge(other)                          // for Cells of another file
//	r, err := hypothesis.Compare(ctx, c, d, 999, src)
//
// Independence reads its rows twice and needs them in memory. Independence is also valid for a
// random part of the rows.
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
