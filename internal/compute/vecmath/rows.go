package vecmath

// PeakRows sets peaks[j] to the largest x[i][j] < +Inf of a column, if it is above the old
// peaks[j]. Row i of the matrix, rows×len(peaks), begins at x[i·stride]. PeakRows ignores NaN.
// Results are the same in every tier. PeakRows panics unless stride is at least len(peaks) and x
// holds all rows.
func PeakRows[T Float](peaks, x []T, stride, rows int) {
	if rows > 0 && len(peaks) > 0 {
		peakRows(peaks, matrix(x, stride, rows, len(peaks)), stride, rows)
	}
}

// ExpRows sets x[i][j] = e^((x[i][j] − a[j]) − b[j]) and adds x[i][j] to sums[j], for the rows x[i]
// (rows×len(sums)) in ascending order. Every operation rounds, and exponentials have the bits of
// [ExpDiff]. ExpRows panics as PeakRows does. a, b and sums must not overlap x.
func ExpRows[T Float](x []T, stride, rows int, a, b, sums []T) {
	if n := len(sums); rows > 0 && n > 0 {
		expRows(matrix(x, stride, rows, n), stride, rows, first(a, n), first(b, n), sums)
	}
}

func matrix[T Float](x []T, stride, rows, cols int) []T {
	if stride < cols {
		panic("vecmath: rows overlap")
	}
	return first(x, (rows-1)*stride+cols)
}
