// Package hypothesis tests whether two samples have one distribution, and whether two variables are
// independent, with features of package rff, in time that is linear in the number of rows.
//
//	r, err := hypothesis.TwoSample(ctx, phi, x, y, hypothesis.Options{}, src)        // MMD
//	r, err = hypothesis.Independence(ctx, phi, psi, x, y, hypothesis.Options{}, src) // HSIC
//	r.P // small if the samples differ, or if the variables depend on each other
//
// p-values come from permutations and are exact for every number of rows, if the rows are
// exchangeable, as independent rows are, and if the map does not depend on which sample a row
// belongs to. Several tests need a correction: multiply P by their number. Cells holds the mean
// features of groups of rows, for samples larger than memory:
//
//	c, err := hypothesis.NewCells(phi, 1000, 500) // up to 500 cells of 1000 rows
//	err = c.Add(part, src)                        // for each part of the rows
//	err = c.Merge(other)                          // for Cells of another file
//	r, err := hypothesis.Compare(ctx, c, d, 999, src)
//
// If rows depend on their neighbours, as in time series, TwoSample and Independence reject the
// hypothesis far too often: use NewCells and Compare, which permute groups of consecutive rows.
// docs/regression.md has the statistics, the limits and the references.
//
// Functions return an error for nil maps and sources, for NaN and infinite numbers, and at the end
// of ctx. Functions panic if ctx is nil.
package hypothesis
