// Package automl learns a function from rows and chooses by itself how. Rows and targets go in, as
// numbers or as classes. A model comes out that takes rows in their own units, with a report of
// what was tried:
//
//	found, err := automl.Fit(ctx, rows, automl.Options{}, rand.NewPCG(1, 2))
//	fmt.Print(found.Report)
//	mean, half := found.Model.Band(x, 0.9)
//	err = found.Model.Write(file)
//
// # Families
//
// A family is a way to learn the affine map that precedes a kernel, z = L·(f∘(x − c)). The means c
// and the factors f are those of columns in every family.
//
//	linear                                    zᵀz′, columns of deviation 1
//	sparse linear                             L is the mean of β under the horseshoe prior
//	one length-scale                          columns of deviation 1
//	one length-scale, columns in equal units  one factor for all columns, as for pixels
//	one length-scale, 0 and 1 as they are     columns of two values have the difference 1
//	boxes                                     kernels.Boxes, thresholds weighted by steps of a fit
//	a length-scale a column                   f by the evidence, as package ard learns it
//	diagonal metric, full metric              L from the mean of ∇f∇fᵀ of exact fits
//
// The sparse linear family takes part if there are fewer than three rows for each column, and if
// rows²·columns ≤ 10⁸ [Carvalho et al. 2010]. Boxes and metrics take part up to 300 columns, and
// the full metric with at least five rows a column [Radhakrishnan et al. 2024]. The diagonal metric
// replaces the length-scales of columns for classes.
//
// Columns can have equal units if three quarters of those that vary cover a quarter of the range of
// all of them, and if at most a quarter or all of them have two values. Other columns keep 0 and 1
// as they are if any column has two values. So the units of numbers beside 0 and 1 change nothing.
//
// Thresholds of boxes lie between values of the rows. The weight of a threshold becomes the mean
// square of the step of a fit there, for two rounds. So the kernel finds the steps of a function,
// as trees do.
//
// The kernel of other families is Gaussian, or Matérn of order 5/2 or 3/2 if rougher kernels score
// better. The landmarks of all kernels are the rows themselves, so that they are exact, or 2000 of
// them if there are more than 3000. The score is the evidence for numbers and the log-loss of
// leave-one-out for classes. The length-scale doubles or halves while the score rises, and then
// moves by √2.
//
// # Choice
//
// Scores of rows from which scales were learnt are too good: with fewer rows than columns, the
// evidence of learnt scales is high, and the error at other rows is no smaller than without them.
// So Fit compares families at held-out rows that have taken no part in learning. It divides the
// rows into three folds and learns every family without each fold, or without the first fold only
// if there are more than 500 rows. With fewer rows, and fewer than three for each column, there are
// up to ten folds, because two thirds of so few rows may miss what all of them find. Folds have
// equal shares of the classes. The only row of a class is never held out, nor is the only row in
// which an output has another value. Outputs count in units of their standard deviations.
//
// The family with the smallest error or log-loss is learnt again from all rows. A family that
// learns from the targets must be better than the families before it by a standard error of the
// difference. The search on all rows may end in a worse maximum than a search without a fold. So
// Fit takes the scales, metric or boxes of a fold if their score on all rows is higher.
//
// If there are more than 1500 rows, a random sample of 1500 chooses, and the last fit reads all of
// them. Rows of a class that the sample lacks are added to it, with weights that keep the share of
// the class.
//
// # Bands
//
// The bands of Model.Band come from errors of leave-one-out, if the family does not learn from the
// targets. They are relative to the standard deviations of predictions, so they are wide away from
// the rows. Bands of boxes have the same width everywhere: functions of boxes are constant beyond
// the thresholds, and so are their deviations. With more than 3000 rows, bands come from rows that
// are no landmarks.
//
// In families that learn from the targets, errors of leave-one-out are too small. With at least
// 2000 rows their bands come from leave-one-out at 500 to 1500 rows that did not choose. With fewer
// rows they come from the held-out rows. The fit to all rows has smaller errors than fits without a
// fold. So the mean square of the errors with length-scales and metrics is reduced as if its excess
// over the noise fell as 1/n.
//
// From 200 errors on, Fit also learns the logarithms of the errors, with the map of the model. If
// they are predicted clearly better than by their mean, the bands are those of ridge.Bands with
// Logs, wide where the noise is large. The report has the share of targets in bands of 90 % from
// other rows.
//
// # Heavy tails
//
// With Options.HeavyTails the noise of numbers may follow Student's t of ν degrees of freedom
// [Lange et al. 1989]. Before the choice of a family, Fit chooses ν from {1.5, 2, 3, 4, 6, 10, ∞}
// with one length-scale, by the likelihood of leave-one-out with up to 1500 rows and 500 landmarks.
// The weights ω of rows in this fit are their weights in the choice, so that outliers count little.
// Fit chooses ν again with the chosen family. ∞ stands for normal noise, and wins unless others
// exceed its log-likelihood by 2 and 0.02 a row. A fit with a ν is repeated with the weights
//
//	ω_i = (ν + 1)/(ν + r_i²/σ² + g_i),  g_i = (φ_i − φ̄)ᵀA⁻¹(φ_i − φ̄) + 1/Σω,
//
// until the noise changes by less than 1 %, at most 30 times. The r are the residuals of the fit
// before. Model.Noise is then the square of the scale of t.
//
// # Where it fails
//
// On columns of mixed kinds, trees can be ahead. Rows that depend on each other, such as those of
// one patient, need folds by group, which Fit does not make. Targets with a long tail are better as
// logarithms. HeavyTails follows the mode of skewed noise and not its mean: for log-normal noise of
// a linear function the error more than doubles. HeavyTails bears a fifth of the rows far off, and
// one row at 10⁹ deviations, but not half of the rows, and not one row at 10¹⁵. Bands that follow
// noise are too narrow where it is largest, if few rows are there: 300 rows with noise of 2^x, x
// normal, had 81 % of other targets with x from 1 to 2 in bands of 90 %.
//
// # References
//
//   - [Bhattacharya et al. 2016] A. Bhattacharya, A. Chakraborty, B. K. Mallick. Fast sampling with
//     Gaussian scale mixture priors in high-dimensional regression. Biometrika 103.
//   - [Carvalho et al. 2010] C. M. Carvalho, N. G. Polson, J. G. Scott. The horseshoe estimator for
//     sparse signals. Biometrika 97.
//   - [Lange et al. 1989] K. L. Lange, R. J. A. Little, J. M. G. Taylor. Robust statistical
//     modeling using the t distribution. Journal of the American Statistical Association 84.
//   - [Makalic & Schmidt 2016] E. Makalic, D. F. Schmidt. A simple sampler for the horseshoe
//     estimator. IEEE Signal Processing Letters 23.
//   - [Radhakrishnan et al. 2024] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism
//     for feature learning in neural networks and backpropagation-free machine learning models.
//     Science 383.
package automl
