// Package welford accumulates means and standard errors without cancellation [Welford 1962: Note on
// a method for calculating corrected sums of squares and products, Technometrics 4(3)].
package welford

import "math"

// Add updates the mean of n − 1 values and the sum of their squared deviations from the mean by the
// n-th value v. All are 0 before the first value. The mean is mean + rest, and rest is below its
// rounding: a mean without it stands still where only the last digits of values vary. An infinite
// mean stays infinite until v is NaN or the opposite infinity.
func Add(n, v float64, mean, rest, squares *float64) {
	if math.IsInf(*mean, 0) && !math.IsNaN(v) && v != -*mean {
		return // Inf − Inf would be NaN
	}
	d := v - *mean - *rest
	*rest += d / n
	before := *mean
	*mean += *rest
	*rest -= *mean - before
	*squares += d * (v - *mean - *rest)
}

// StdErr returns the standard error of the mean of n values, √(squares/(n−1)/n).
func StdErr(n, squares float64) float64 { return math.Sqrt(squares / (n - 1) / n) }
