// Package mse holds the exact mean squared errors of random-feature estimates φ(x)ᵀφ(y) against
// their kernels, with which measurements are compared. A map of package rff carries its Law, which
// gives the Errors for each ensemble of frequencies whose law is known.
//
// In the comments x, y ∈ R^d are the two points, m is the number of frequencies w, s = xᵀy, p =
// ‖x+y‖², q = ‖x−y‖², K = exp(−q/2) and S = exp(s) are the Gaussian and the softmax kernel, θ is
// the angle between x and y and u = θ/π. Points are rescaled for other length-scales than 1.
//
// An estimate is the mean of m terms, one for each frequency, of variance v. Any two terms of one
// block of b frequencies have the covariance c, and terms of different blocks have none:
//
//	MSE = v/m + (⌊m/b⌋·b(b−1) + r(r−1))·c/m²,  r = m mod b.
//
// A result is 0 or +Inf only if it is out of range. Coordinates that are NaN or infinite give NaN.
// Every Error panics if x and y differ in length or are empty, and if m < 1. An Error takes O(d)
// operations and O(√d) terms of a series or of a quadrature.
//
// docs/maps.md has the derivations and accuracies; docs/references.md has the papers.
package mse
