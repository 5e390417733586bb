package performer

// merge adds the keys of other, which come after those of acc, to acc.
func (acc *accumulator[T]) merge(other *accumulator[T]) {
	if acc.ref != nil {
		acc.rescale(other.ref.exponent)
	}
	for f := range acc.sum.Rows {
		factor := T(1)
		if acc.ref != nil && other.ref.exponent[f] != none {
			factor = powerOfTwo[T](other.ref.exponent[f] - acc.ref.exponent[f])
		}
		row := acc.sum.Row(f)
		for j, x := range other.sum.Row(f) {
			row[j] += factor * x
		}
	}
}
