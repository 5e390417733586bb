package bytedot

// addRowsReference adds rows of x, of 16·sixteens elements, and multiples of means and halves to
// the rows of dst that the list says.
func addRowsReference(dst []float32, stride int, list []int32, x []float32, xStride int, sizes, means, factors, halves []float32, rows, sixteens int) {
	for j, i := range list[:rows] {
		row := dst[int(i)*stride:][:Lanes*sixteens]
		for c := range row {
			// Conversions keep the compiler from fusing products and sums.
			row[c] += x[j*xStride+c] + float32(sizes[j]*means[c]) + float32(factors[j]*halves[c])
		}
	}
}
