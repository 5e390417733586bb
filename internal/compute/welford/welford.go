// Package welford accumulates means and their standard errors, one value at a time, without
// cancellation [Welford 1962].
//
//   - [Welford 1962] B. P. Welford. Note on a method for calculating corrected sums of squares and
//     products. Technometrics 4(3).
package welford

import "math"

// Add takes the n-th value v, n ≥ 1, into the mean of the values before and the sum of their
// squared deviations from it; both are 0 before the first. A mean that is infinite stays so until
// a NaN or the other infinity comes.
func Add(n, v float64, mean, squares *float64) {
	if math.IsInf(*mean, 0) && !math.IsNaN(v) && v != -*mean {
		return // Inf − Inf would be NaN
	}
	d := v - *mean
	*mean += d / n
	*squares += d * (v - *mean)
}

// StdErr returns the standard error of the mean of n values, √(squares/(n−1)/n).
func StdErr(n, squares float64) float64 { return math.Sqrt(squares / (n - 1) / n) }
