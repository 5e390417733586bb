package mse

import "math"

// blocks returns the mean squared error of the mean of m terms of variance v, in blocks of which
// the last has the remainder. Two terms of one block have the covariance c.
func blocks(m, block int, v, c float64) float64 {
	n, p := float64(m), pairs(m, block)
	if p == 0 {
		return v / n
	}
	return math.Max(v/n+p/n*c/n, 0)
}

func pairs(m, block int) float64 {
	size, rest := float64(block), float64(m%block)
	return float64(m/block)*size*(size-1) + rest*(rest-1)
}
