// Package automl learns a function from rows and chooses by itself how. A model comes out that
// accepts rows in their own units, with a report of what was tried:
//
//	found, err := automl.Fit(ctx, rows, automl.Options{}, rand.NewPCG(1, 2))
//	fmt.Print(found.Report)
//	q := found.Model.Quantiles(x, 0.05, 0.5, 0.95) // a band of 90 % is from q[0] to q[2]
//	err = found.Model.Write(file)
//
// Fit compares functions at held-out rows, mixes the best ones, and fits the mixture to all rows:
// linear functions, sparse linear functions, and kernels of one length-scale, of a length-scale for
// each column, of a learnt metric, and of boxes, which find steps as trees do. Kernels are Gaussian
// or Matérn. Columns are as they are, as ranks or squashed, and positive numbers are also learnt as
// logarithms. Quantiles come from errors at rows that a fit has not seen.
//
// Rows that depend on each other, such as those of one patient or of neighbouring days, need
// Options.Groups. Without Groups, on 4000 rows in groups of ten, the report said 0.39 where new
// groups had 1.10, and bands of 90 % held 47 %. On four other tables of 4000 rows in groups of ten,
// with Groups, the report said 1.10 on average and new groups had 1.06, and bands held 91 %.
//
// On columns of mixed kinds, trees can be ahead. Options.HeavyTails bears a fifth of the rows far
// off, and not half of them.
//
// docs/regression.md has the families, the rules of the choice, and the references.
package automl
