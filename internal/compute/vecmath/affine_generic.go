package vecmath

// The conversions of products to T keep the compiler from fusing a product and a sum.

func affineReference[T Float](dst, x []T, a, b T) {
	for i, v := range x {
		dst[i] = T(a*v) + b
	}
}

func affineEachReference[T Float](x []T, a T, b []T, c T) {
	for i, v := range x {
		x[i] = (T(a*v) + b[i]) + c
	}
}

func multiplyReference[T Float](x, a []T) {
	for i, v := range x {
		x[i] = v * a[i]
	}
}

func addScaledReference[T Float](y, x []T, a T) {
	for i, v := range x {
		y[i] += T(a * v)
	}
}

// v − v is 0 if v is finite and NaN otherwise, so that NaN and ±Inf in x are not lost.

func max0Reference[T Float](x []T, c T) {
	for i, v := range x {
		if v > 0 {
			x[i] = c * v
		} else {
			x[i] = v - v
		}
	}
}

func signReference[T Float](x []T, c T) {
	for i, v := range x {
		s := v - v
		switch {
		case v > 0:
			s += c
		case v < 0:
			s -= c
		}
		x[i] = s
	}
}
