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
//	linear                                      zᵀz′, columns of deviation 1
//	sparse linear                               as linear, with factors that make ridge regression the lasso
//	one length-scale                            columns of deviation 1
//	one length-scale, columns in equal units    one factor for all columns, as for pixels
//	a length-scale a column                     f by the evidence, as package ard learns it
//	diagonal metric, full metric                L from the mean of ∇f∇fᵀ [Radhakrishnan et al. 2024]
//
// The sparse linear family takes part if there are more than a third as many columns as rows.
// Metrics take part up to 300 columns, and the full metric with at least five rows a column. The
// diagonal metric replaces the length-scales of columns for classes.
//
// The kernel is Gaussian, or Matérn of order 5/2 or 3/2 if rougher kernels score better. Its
// landmarks are the rows themselves, so that it is exact, or 2000 of them if there are more. The
// score is the evidence for numbers and the log-loss of leave-one-out for classes. The length-scale
// doubles or halves while the score rises, and then moves by √2.
//
// # Choice
//
// Scores of rows from which scales were learnt are too good: with fewer rows than columns, the
// evidence of learnt scales is high, and the error at other rows is no smaller than without them.
// So Fit compares families at held-out rows that have taken no part in learning. It divides the
// rows into three folds and learns every family without each fold, or without the first fold only
// if there are more than 500 rows. Folds have equal shares of the classes. The family with the
// smallest error or log-loss is learnt again from all rows. A family that learns from the targets
// must be better than the families before it by a standard error of the difference.
//
// If there are more than 1500 rows, a sample of 1500 chooses, and the last fit reads all of them.
//
// # Bands
//
// The bands of Model.Band come from errors at the held-out rows. They are relative to the standard
// deviations of predictions in families that learn no scales, and have the same width everywhere in
// the other families, whose standard deviations are too small. The report has the share of held-out
// targets in bands of 90 % from the other folds.
//
// # Where it fails
//
// All of this is smooth. On steps and on columns of mixed kinds, trees are ahead. Rows that depend
// on each other, such as those of one patient, need folds by group, which Fit does not make.
// Targets with a long tail are better as logarithms.
//
// # References
//
//   - [Grandvalet 1998] Y. Grandvalet. Least absolute shrinkage is equivalent to quadratic
//     penalization. ICANN.
//   - [Radhakrishnan et al. 2024] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin. Mechanism
//     for feature learning in neural networks and backpropagation-free machine learning models.
//     Science 383.
package automl
