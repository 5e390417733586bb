package bytedot

func scoresReference(dst []float32, stride int, peaks, rowScales, scales []float32, starts []int32, a []int8, row, group int, b []uint8, rows, groups, sixteens int) {
	var memory [panel * Lanes]int32
	sums := memory[:Lanes*sixteens]
	for i := range rows {
		sum(sums, starts[i], a[i*row:], group, b, groups)
		to := dst[i*stride:][:len(sums)]
		for j, s := range sums {
			// The conversion rounds the product to float32.
			y := float32(float32(s)*rowScales[i]) * scales[j]
			to[j] = y
			if y > peaks[j] {
				peaks[j] = y
			}
		}
	}
}

func addReference(dst []float32, stride int, rowScales, olds, news []float32, starts []int32, a []int8, row, group int, b []uint8, rows, groups, sixteens int) {
	var memory [panel * Lanes]int32
	sums := memory[:Lanes*sixteens]
	for i := range rows {
		sum(sums, starts[i], a[i*row:], group, b, groups)
		to := dst[i*stride:][:len(sums)]
		for j, s := range sums {
			// The conversions keep the compiler from fusing products and the sum.
			to[j] = float32(to[j]*olds[j]) + float32(float32(s)*float32(rowScales[i]*news[j]))
		}
	}
}

func sum(sums []int32, start int32, a []int8, group int, b []uint8, groups int) {
	for j := range sums {
		sums[j] = start
	}
	for range groups {
		x0, x1, x2, x3 := int32(a[0]), int32(a[1]), int32(a[2]), int32(a[3])
		y := b[:four*len(sums)]
		for j := range sums {
			v := y[four*j:][:four]
			sums[j] += x0*int32(v[0]) + x1*int32(v[1]) + x2*int32(v[2]) + x3*int32(v[3])
		}
		a, b = a[min(group, len(a)):], b[len(y):]
	}
}
