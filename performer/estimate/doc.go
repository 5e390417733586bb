// Package estimate estimates softmax attention without bias, in time linear in the number of
// tokens, with standard errors. [Unbiased.Pilot] finds how many features reliable errors need.
//
// # References
//
//   - [Blanchet & Glynn 2015] J. H. Blanchet, P. W. Glynn: Unbiased Monte Carlo for
//     optimization and functions of expectations via multi-level randomization. Winter
//     Simulation Conference.
//   - [Welford 1962] B. P. Welford: Note on a method for calculating corrected sums of
//     squares and products. Technometrics 4.
package estimate
