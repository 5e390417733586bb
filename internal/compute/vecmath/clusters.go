package vecmath

// Highest sets, for each column j of x (rows×len(peaks)),
//
//	peaks[j] = x[i][j] − minus[i],  at[j] = i
//
// for the first row i with the largest difference, if the difference is above the old peaks[j].
// Highest ignores NaN. Row numbers are exact up to 2²⁴ rows. Results are the same in every tier.
// Highest panics as [PeakRows] does, if at is shorter than peaks, or if minus has fewer than rows
// elements.
func Highest[T Float](peaks, at, x []T, stride int, minus []T, rows int) {
	if n := len(peaks); rows > 0 && n > 0 {
		highest(peaks, first(at, n), matrix(x, stride, rows, n), stride, first(minus, rows), rows)
	}
}

// Uncertain writes to list, in ascending order, all indices k with
//
//	w[k]²·c·(e^u − 1) > bound[k],  u = min(a[k]·b, 16),
//
// and returns the number of these indices. Uncertain panics if a, bound or list is shorter than w.
func Uncertain[T Float](list []int32, w, a []T, b, c T, bound []T) int {
	n := len(w)
	if n == 0 {
		return 0
	}
	return uncertain(list[:n], w, first(a, n), b, c, first(bound, n))
}
