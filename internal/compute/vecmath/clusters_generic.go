package vecmath

import "math"

func highestReference[T Float](peaks, at, x []T, stride int, minus []T, rows int) {
	for i := range rows {
		c := minus[i]
		for j, v := range x[i*stride:][:len(peaks)] {
			if v -= c; v > peaks[j] {
				peaks[j], at[j] = v, T(i)
			}
		}
	}
}

func uncertainReference[T Float](list []int32, w, a []T, b, c T, bound []T) int {
	n := 0
	for k, x := range w {
		u := a[k] * b
		if !(u < 16) {
			u = 16
		}
		if T(x*x)*c*T(T(math.Exp(float64(u)))-1) > bound[k] {
			list[n] = int32(k)
			n++
		}
	}
	return n
}
