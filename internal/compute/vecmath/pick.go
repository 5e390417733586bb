package vecmath

// Pick sets dst[k] = a[k]·x[at[k]] for all k, where every at[k] is an index of x. Results are the
// same in every tier. Pick panics if a or at is shorter than dst, but where assembly runs it does
// not check the indexes: an index beyond x reads what lies there. dst must not overlap x.
func Pick[T Float](dst, x []T, at []int32, a []T) {
	a, at = a[:len(dst)], at[:len(dst)]
	n := len(dst) &^ 15 // whole vectors of every tier
	if n > 0 {
		pick(dst[:n], x, at, a)
	}
	pickReference(dst[n:], x, at[n:], a[n:])
}
