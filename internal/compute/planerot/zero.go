package planerot

// Zero returns the sum of 0·v over the elements v of x: 0 if all elements are finite, and NaN
// otherwise. The bits of the NaN may depend on the tier.
func Zero[T Float](x []T) T {
	if k := best[T](); k != nil && len(x) > 0 {
		return k.zero(&x[0], len(x))
	}
	return zero(x)
}

// zero is Zero in pure Go.
func zero[T Float](x []T) T {
	var sum T
	for _, v := range x {
		sum += T(0 * v)
	}
	return sum
}
