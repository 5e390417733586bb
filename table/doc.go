// Package table learns columns of a table, the targets, from the other columns.
//
//	t, err := table.Read(file, table.ReadOptions{})
//	rest, held := t.Split(0.2, src)
//	m, err := table.Fit(ctx, rest, []string{"price"}, table.Options{}, src)
//	score, err := m.Score(held) // score["price"] has the errors at rows that Fit has not seen
//	p, err := m.Predict(more, 0.05, 0.95)
//	price := p.Numbers["price"] // price.Mean, and price.Quantiles[0] and [1], a band of 90 %
//	e, err := m.Explain(held, "price", src) // importances, partial dependence, calibration
//	err = m.Write(out)
//
// A value is missing if the text is empty, NA, N/A, NaN, null or ?, in small or capital letters. A
// number is decimal and finite. A date is 2006-01-02, with or without a time (15:04, 15:04:05)
// after a T or a space, and a zone (Z, +01:00).
//
// Fit determines the [Kind] of each column from the values that are not missing. A row of the table
// becomes a point, with the columns that Kind describes. If values of a column are missing, a
// further column of points is 1 for rows without a value. Options.Category makes a column yes/no or
// a category without the conditions of other kinds. A missing number, date or yes/no becomes the
// mean, and a missing category becomes zeros. If no column stands for other values, a value that
// Fit has not seen becomes the mean in a column of yes/no, and zeros in a category. A target has
// classes with Options.Classes, or if fewer than half of the values are numbers. A target of
// classes has no other target beside it. Fit and Score leave out rows without a target.
// docs/learning.md has an example and the cases in which Fit fails. Rows that depend on each other
// need Options.Group or Time, and Table.SplitBy.
package table
