package vecmath

func pickReference[T Float](dst, x []T, at []int32, a []T) {
	for k, i := range at {
		dst[k] = a[k] * x[i]
	}
}
