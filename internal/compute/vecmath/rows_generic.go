package vecmath

import "math"

func peakRowsReference[T Float](peaks, x []T, stride, rows int) {
	inf := T(math.Inf(1))
	for i := range rows {
		for j, v := range x[i*stride:][:len(peaks)] {
			if peaks[j] < v && v < inf {
				peaks[j] = v
			}
		}
	}
}

func expRowsReference[T Float](x []T, stride, rows int, a, b, sums []T) {
	for i := range rows {
		row := x[i*stride:][:len(sums)]
		expDiffReference(row, row, a, b)
		addScaledReference(sums, row, 1)
	}
}
