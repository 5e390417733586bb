package bytedot

// addTransposedReference adds 16 columns of x, of 16·sixteens rows, to the rows of dst that the
// list says.
func addTransposedReference(dst []float32, stride int, list []int32, x []float32, xStride, sixteens int) {
	for j, i := range list[:Lanes] {
		row := dst[int(i)*stride:][:Lanes*sixteens]
		for l := range row {
			row[l] += x[l*xStride+j]
		}
	}
}
