package vecmath

// Rows of a matrix are x[i·stride : i·stride+n]. The functions here go down the columns of a matrix
// with what belongs to a column in registers.

// PeakRows sets peaks[j] = x[i][j] where peaks[j] < x[i][j] < +Inf, for the rows x[i]
// (rows×len(peaks)): it ignores NaN and +Inf in x. Results are the same in every tier. PeakRows
// panics unless stride is at least len(peaks) and x holds all rows.
func PeakRows[T Float](peaks, x []T, stride, rows int) {
	if rows > 0 && len(peaks) > 0 {
		peakRows(peaks, matrix(x, stride, rows, len(peaks)), stride, rows)
	}
}

// ExpRows sets
//
//	x[i][j] = e^((x[i][j] − a[j]) − b[j]),  sums[j] = sums[j] + x[i][j]
//
// for the rows x[i] (rows×len(sums)) in ascending order, where every operation is rounded. The
// exponentials have the bits of [ExpDiff]. ExpRows panics as PeakRows does. a, b and sums must not
// overlap x.
func ExpRows[T Float](x []T, stride, rows int, a, b, sums []T) {
	if n := len(sums); rows > 0 && n > 0 {
		expRows(matrix(x, stride, rows, n), stride, rows, first(a, n), first(b, n), sums)
	}
}

// matrix returns the elements of a matrix, from the first to the last.
func matrix[T Float](x []T, stride, rows, cols int) []T {
	if stride < cols {
		panic("vecmath: rows overlap")
	}
	return first(x, (rows-1)*stride+cols)
}
