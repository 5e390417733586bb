package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// ELU returns φ(x) = elu(x) + 1 of every coordinate [Katharopoulos et al. 2020],
//
//	φ(t) = t + 1 for t ≥ 0,  e^t for t < 0,
//
// R^d → R^d, the exact map of kernels.ELU. The exponential is not computed as
// (e^t − 1) + 1, which is 0 below t ≈ −17 in float32 and −37 in float64; φ is
// positive until e^t underflows. LogTransform gives log(1 + t) for t ≥ 0 and t
// itself below. −Inf, where the feature would be a plain 0, gives NaN in both.
// In Transform and LogTransform dst may be x, in Backward and LogBackward also the
// gradient that is taken back.
//
// An error reports a d below 1.
func ELU[T dense.Float](d int) (*Positive[T], error) {
	if err := atLeastOne("d", d); err != nil {
		return nil, err
	}
	e := explicit[T](d, d)
	return &Positive[T]{
		engine: e,
		name:   "ELU()",
		kernel: kernels.ELU{},
		row:    func(phi, x []T, _, _ int) { vecmath.ELU(phi, x) },
		logRow: func(phi, x []T, _, _ int) { logELU(phi, x) },

		back:    rowwise(e, eluSlope[T]),
		logBack: rowwise(e, logELUSlope[T]),
	}, nil
}

// chunk is the number of elements for which logELU keeps scratch on its stack.
const chunk = 128

func logELU[T dense.Float](phi, x []T) {
	var logs [chunk]T
	for len(x) > 0 {
		n := min(len(x), chunk)
		to := phi[:n]
		vecmath.Log1p(logs[:n], x[:n])
		for i, v := range x[:n] {
			if v >= 0 {
				to[i] = logs[i]
			} else {
				// v − v is NaN for −Inf and 0 for every number.
				to[i] = v + (v - v)
			}
		}
		x, phi = x[n:], phi[n:]
	}
}
