// Package automl learns a function from rows and chooses by itself how. Fit returns a model that
// accepts rows in the units of the data, and a report of the functions that Fit compared:
//
//	found, err := automl.Fit(ctx, rows, automl.Options{}, rand.NewPCG(1, 2))
//	fmt.Print(found.Report)
//	q := found.Model.Quantiles(x, 0.05, 0.5, 0.95) // a band of 90 % is from q[0] to q[2]
//	err = found.Model.Write(file)
//
// Fit compares functions at held-out rows, mixes the best ones, and fits the mixture to all rows:
// linear functions, sparse linear functions, and kernels of one length-scale, of a length-scale for
// each column, of a learnt metric, and of boxes, which find steps as trees do. Kernels are Gaussian
// or Matérn. The numbers of a column enter unchanged, as ranks, or squashed into a finite range,
// and positive targets are also learnt as logarithms. Quantiles come from errors at rows that a fit
// has not seen.
//
// Rows that depend on each other, such as those of one patient or of neighbouring days, need
// Options.Groups. Without Groups, on 4000 rows in groups of ten, the report promised an error of
// 0.39 where the error at new groups was 1.10, and bands of 90 % held 47 % of new targets. With
// Groups, on four other tables of 4000 rows in groups of ten, the report promised an error of 1.10
// on average where the error at new groups was 1.06, and bands held 91 % of new targets.
//
// On tables with columns of mixed kinds, decision trees can have smaller errors. With
// Options.HeavyTails, predictions stay accurate if a fifth of the targets are outliers, but not if
// half of them are. docs/regression.md has the families, the rules of the choice, and the
// references.
package automl
