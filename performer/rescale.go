package performer

// rescale raises the reference exponents to the given ones where those are
// greater. The sums are multiplied by 2^(old − new), which rounds only what
// falls below the smallest normal number.
func (acc *accumulator[T]) rescale(exponents []int32) {
	for f, n := range exponents {
		old := acc.ref.exponent[f]
		if n <= old {
			continue
		}
		// Without a reference the sums are zero, or NaN or Inf from a key that
		// is, and stay what they are.
		if old != none {
			factor := powerOfTwo[T](old - n)
			row := acc.sum.Row(f)
			for j := range row {
				row[j] *= factor
			}
		}
		acc.ref.set(f, n)
	}
}
