package laws

// blocks returns the mean squared error of the mean of m unbiased terms of
// variance v, of which those of one block, block of them or the remainder in the
// last, have covariance c in pairs, and others none. c does not matter for
// blocks of one.
func blocks(m, block int, v, c float64) float64 {
	n, size, rest := float64(m), float64(block), float64(m%block)
	pairs := float64(m/block)*size*(size-1) + rest*(rest-1)
	if pairs == 0 {
		return v / n
	}
	return v/n + pairs/n*c/n
}
