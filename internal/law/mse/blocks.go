package mse

import "math"

// blocks returns the mean squared error of the mean of m unbiased terms of variance v. Terms are in
// blocks of the given size, and the last block has the remainder. Two terms of one block have the
// covariance c, other terms none. c does not matter for blocks of one. A sum that rounding takes
// below 0 is 0.
func blocks(m, block int, v, c float64) float64 {
	n, p := float64(m), pairs(m, block)
	if p == 0 {
		return v / n
	}
	return math.Max(v/n+p/n*c/n, 0)
}

// pairs returns the number of ordered pairs of terms of one block.
func pairs(m, block int) float64 {
	size, rest := float64(block), float64(m%block)
	return float64(m/block)*size*(size-1) + rest*(rest-1)
}
