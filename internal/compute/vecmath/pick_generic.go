package vecmath

func pickReference[T Float](dst, x []T, at []int32, a []T) {
	for k := range dst {
		dst[k] = a[k] * x[at[k]]
	}
}
