// Package audit measures the errors of approximations of attention, and chooses one. The error of
// an approximation may be 1 % or 100 %, and the outputs do not show which.
//
// [Measure] computes exact attention of a random sample of rows. A [Report] has the error of the
// whole output with an interval, the errors of typical rows and of the worst row, and for
// comparison the error of plain averages of the values. One call measures any number of
// approximations, causal or bidirectional, with heads and masks, and also outputs of other software
// ([Output]). Sixty-four rows cost 64/L calls of exact attention of L queries.
//
//	reports, err := audit.Measure(ctx, exact, q, k, v, audit.Options{}, src, linear)
//	fmt.Println(reports[0]) // error 1.52 % (95 %: 1.31 … 1.77 %), 9 of 10 rows within 2.4 %, …
//
// [Choose] returns the cheapest approximation that it finds within a tolerance, or exact attention.
// By default, a search that finds nothing within the tolerance costs at most half a call of exact
// attention. The chosen attention serves later calls with queries and keys distributed like q and k.
//
//	c, err := audit.Choose(ctx, performer.Softmax{}, q, k, v, 0.02, audit.ChooseOptions{}, src)
//	out := c.Attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// [ChooseTopK] chooses how many keys each head of a State reads, on the last queries of a prompt.
//
// docs/laws.md of this module has the choice, the tests and the references.
package audit
