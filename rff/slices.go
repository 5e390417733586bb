package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// chunk is the number of elements for which a function keeps scratch on its
// stack.
const chunk = 128

// scaleBy sets x[i] = a·x[i].
func scaleBy[T dense.Float](x []T, a T) {
	if a == 1 {
		return
	}
	for i := range x {
		x[i] *= a
	}
}

// affine sets x[i] = a·x[i] + b.
func affine[T dense.Float](x []T, a, b T) {
	for i := range x {
		x[i] = a*x[i] + b
	}
}

// shift sets x[i] = a·x[i] + b[i].
func shift[T dense.Float](x []T, a T, b []T) {
	b = b[:len(x)]
	for i := range x {
		x[i] = a*x[i] + b[i]
	}
}

// multiply sets x[i] = x[i]·a[i].
func multiply[T dense.Float](x, a []T) {
	a = a[:len(x)]
	for i := range x {
		x[i] *= a[i]
	}
}

// cosine sets x[i] = cos x[i].
func cosine[T dense.Float](x []T) {
	var sines [chunk]T
	for len(x) > 0 {
		n := min(len(x), chunk)
		vecmath.Sincos(sines[:n], x[:n], x[:n])
		x = x[n:]
	}
}

// The functions below are 0 on one side of the origin or jump there. They add
// v − v, which is 0 for a number and NaN for NaN and ±Inf, so that those do not
// disappear.

// sign sets x[i] = c·sign x[i], where sign 0 = 0.
func sign[T dense.Float](x []T, c T) {
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

// step sets x[i] = c·Θ(x[i]), where Θ(0) = ½.
func step[T dense.Float](x []T, c T) {
	for i, v := range x {
		s := v - v
		switch {
		case v > 0:
			s += c
		case v == 0:
			s = c / 2
		}
		x[i] = s
	}
}

// ramp sets x[i] = c·max(x[i], 0).
func ramp[T dense.Float](x []T, c T) {
	for i, v := range x {
		if v > 0 {
			x[i] = c * v
		} else {
			x[i] = v - v
		}
	}
}

// rampSquared sets x[i] = c·max(x[i], 0)².
func rampSquared[T dense.Float](x []T, c T) {
	for i, v := range x {
		if v > 0 {
			x[i] = c * v * v
		} else {
			x[i] = v - v
		}
	}
}

// halfSquaredNorm returns ‖x‖²/2, summed in float64; NaN when a coordinate is
// NaN or infinite, since e^(−Inf) = 0 would hide it.
func halfSquaredNorm[T dense.Float](x []T) float64 {
	var sum, fault float64
	for _, v := range x {
		t := float64(v)
		sum += t * t
		fault += t - t
	}
	return sum/2 + fault
}
