// Package estimate estimates softmax attention without bias, in time linear in the number of
// tokens.
//
// An [Unbiased] estimates attention without the bias that the ratio of two unbiased estimates has,
// and computes standard errors. Use Unbiased for outputs that are averaged over many draws.
// [Unbiased.Pilot] finds the number of features that reliable standard errors need.
//
// Package audit measures the errors of approximations with exact attention of some rows.
//
// # References
//
//   - [Blanchet & Glynn 2015] J. H. Blanchet, P. W. Glynn: Unbiased Monte Carlo for
//     optimization and functions of expectations via multi-level randomization. Winter
//     Simulation Conference.
//   - [Welford 1962] B. P. Welford: Note on a method for calculating corrected sums of
//     squares and products. Technometrics 4.
package estimate
