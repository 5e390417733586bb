package rff

import "github.com/seed-feabd252/randfeat/dense"

// The functions below are 0 on one side of the origin or jump there. They add v − v, which is 0 for
// a finite v and NaN for NaN and ±Inf, so that NaN and ±Inf do not disappear.

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
