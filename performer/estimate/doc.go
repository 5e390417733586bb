// Package estimate predicts the error of linear attention, and estimates softmax attention without
// bias, both in time linear in the number of tokens.
//
//   - A [Predictor] predicts the relative error of every output of linear attention. It takes about
//     nine times as long as the attention.
//   - An [Unbiased] estimates softmax attention without the bias of a ratio, with its standard error,
//     for estimates that are averaged over many draws. A [Pilot] tells how many features its standard
//     errors need. Both refuse where exact attention is cheaper.
//
// Package audit measures errors from exact attention of some rows. That is cheaper where some rows of
// exact attention take little time.
//
// A Predictor may be shared by goroutines. An Unbiased belongs to one.
//
// # References
//
//   - [Blanchet & Glynn 2015] J. H. Blanchet, P. W. Glynn: Unbiased Monte Carlo for
//     optimization and functions of expectations via multi-level randomization. Winter
//     Simulation Conference.
//   - [Welford 1962] B. P. Welford: Note on a method for calculating corrected sums of
//     squares and products. Technometrics 4.
package estimate
