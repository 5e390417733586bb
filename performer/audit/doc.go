// Package audit measures how far forms of attention are from exact attention, and chooses a form
// within a tolerance.
//
// An approximation of attention may be wrong by 1 % or by 100 %, and outputs do not show it.
//
// # The error of a form
//
// [Measure] computes exact attention of some rows drawn at random. A [Report] estimates the error of the
// whole output with an interval, the errors of typical and of the worst rows, and for comparison the
// error of plain averages of the values. One call compares any number of forms of any kind, causal or
// not, with heads and masks, also outputs that come from elsewhere ([Output]). Sixty-four rows cost
// 64/L of exact attention.
//
//	reports, err := audit.Measure(ctx, exact, q, k, v, audit.Options{}, src, form)
//	fmt.Println(reports[0]) // error 1.52 % (95 %: 1.31 … 1.77 %), 9 of 10 rows within 2.4 %, …
//
// # The form of an error
//
// [Choose] goes the other way: given a tolerance, it audits forms of growing cost, which [Candidate]
// values make, and returns the cheapest one that it finds within the tolerance, or exact attention. A
// search that finds nothing costs half a call of exact attention at most. The form serves later calls
// with queries and keys of the same kind. If only samples of queries and keys are known,
// validate.Compare measures the errors of feature maps.
//
//	c, err := audit.Choose(ctx, exact, q, k, v, 0.02, audit.ChooseOptions[float32]{}, src)
//	out := c.Form.Forward(dense.Matrix[float32]{}, q, k, v)
//
// Where exact attention is too slow even for some rows, package estimate predicts errors in linear
// time.
//
// # References
//
//   - [Efron & Tibshirani 1993] B. Efron, R. J. Tibshirani: An introduction to the bootstrap.
//     Chapman & Hall.
//   - [Hill 1975] B. M. Hill: A simple general approach to inference about the tail of a distribution.
//     Annals of Statistics 3.
package audit
