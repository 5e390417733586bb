// Package automl learns a function from rows and chooses by itself how. A model comes out that
// accepts rows in their own units, with a report of what was tried:
//
//	found, err := automl.Fit(ctx, rows, automl.Options{}, rand.NewPCG(1, 2))
//	fmt.Print(found.Report)
//	mean, half := found.Model.Band(x, 0.9)
//	err = found.Model.Write(file)
//
// Fit compares families of models at held-out rows, and learns the best family from all rows:
// linear functions, sparse linear functions, kernels of one length-scale, of a length-scale for
// each column, of a learnt metric, and of boxes, which find steps as trees do. Kernels are Gaussian
// or Matérn. Prediction bands come from errors at rows that a fit has not seen.
//
// Rows that depend on each other, such as those of one patient or of neighbouring days, need
// Options.Groups. On columns of mixed kinds, trees can be ahead. Options.HeavyTails bears a fifth
// of the rows far off, and not half of them. Targets with a long tail are better as logarithms.
// docs/regression.md has the families, the rules of the choice, and the references.
package automl
