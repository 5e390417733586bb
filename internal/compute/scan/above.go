package scan

// Above writes to list, ascending, all indices i with x[i] ≥ least, for whole groups of rows, and
// returns their number. NaN is not listed. Above panics if list is shorter than x.
func Above(list []int32, x []float32, least float32) int {
	groups := len(x) / GroupRows
	if groups == 0 {
		return 0
	}
	return above(list[:len(x)], x, least, groups)
}

func aboveReference(list []int32, x []float32, least float32, groups int) int {
	n := 0
	for i, v := range x[:groups*GroupRows] {
		if v >= least {
			list[n] = int32(i)
			n++
		}
	}
	return n
}
