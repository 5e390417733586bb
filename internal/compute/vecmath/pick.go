package vecmath

// Pick sets dst[k] = a[k]·x[at[k]] for all k. Every at[k] must be an index of x, because assembly
// does not check the indices and would read other memory. Results are the same in every tier. Pick
// panics if a or at is shorter than dst. dst must not overlap x.
func Pick[T Float](dst, x []T, at []int32, a []T) {
	a, at = a[:len(dst)], at[:len(dst)]
	n := len(dst) &^ 15 // whole vectors of every tier
	if n > 0 {
		pick(dst[:n], x, at, a)
	}
	pickReference(dst[n:], x, at[n:], a[n:])
}
