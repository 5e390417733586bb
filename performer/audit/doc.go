// Package audit measures the errors of approximations of attention, and chooses one.
//
// [Measure] computes exact attention of a random sample of rows. A [Report] has the error of the
// whole output with an interval, and the errors of typical rows and of the worst row. One call
// measures any number of approximations, and also outputs of other software ([Output]).
//
//	reports, err := audit.Measure(ctx, exact, q, k, v, audit.Options{}, src, linear)
//	fmt.Println(reports[0]) // error 1.52 % (95 %: 1.31 … 1.77 %), 9 of 10 rows within 2.4 %, …
//
// [Choose] returns the cheapest approximation that it finds within a tolerance, or exact attention.
// [ChooseTopK] chooses how many keys each head of a State reads, on the last queries of a prompt.
//
//	c, err := audit.Choose(ctx, performer.Softmax{}, q, k, v, 0.02, audit.ChooseOptions{}, src)
//	out := c.Attention.Forward(dense.Matrix[float32]{}, q, k, v)
//
// docs/laws.md of this module has the choice, the tests and the references.
package audit
