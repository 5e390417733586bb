package kernels

import "github.com/seed-feabd252/randfeat/dense"

// whole is a kernel that makes other points of its points and takes Gram matrices of those points.
type whole interface {
	Kernel

	// gram writes k(x_i, y_j) for all pairs into dst, or k(x_i, x_j) if one is set.
	gram(dst, x, y dense.Matrix[float64], one bool)
}

// asWhole lists types, for the same reason as asByProduct.
func asWhole(k Kernel) (whole, bool) {
	switch k := k.(type) {
	case Pullback, Convolution, Homogeneous:
		return k.(whole), true
	}
	return nil, false
}

// gramWhole writes the Gram matrix of k into dst, computed in float64.
func gramWhole[T dense.Float](dst dense.Matrix[T], k whole, x, y dense.Matrix[T], one bool) dense.Matrix[T] {
	exact, ok := any(dst).(dense.Matrix[float64])
	if !ok {
		exact = dense.New[float64](dst.Rows, dst.Cols)
	}
	xs, ys := inFloat64(x), dense.Matrix[float64]{}
	if !one {
		ys = inFloat64(y)
	}
	k.gram(exact, xs, ys, one)
	if !ok {
		dense.Copy(dst, exact)
	}
	return dst
}

// inFloat64 returns x itself if it is float64, and a copy otherwise.
func inFloat64[T dense.Float](x dense.Matrix[T]) dense.Matrix[float64] {
	if same, ok := any(x).(dense.Matrix[float64]); ok {
		return same
	}
	return dense.Copy(dense.Matrix[float64]{}, x)
}
