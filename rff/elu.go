package rff

import (
	"math"

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
// In Transform and LogTransform dst may be x.
//
// An error reports a d below 1.
func ELU[T dense.Float](d int) (*Positive[T], error) {
	if err := atLeastOne("d", d); err != nil {
		return nil, err
	}
	return &Positive[T]{
		engine: engine[T]{in: d, out: d},
		name:   "ELU()",
		kernel: kernels.ELU{},
		row:    elu[T],
		logRow: logELU[T],
	}, nil
}

func elu[T dense.Float](phi, x []T) {
	var exps [chunk]T
	for len(x) > 0 {
		n := min(len(x), chunk)
		e, to := exps[:n], phi[:n]
		vecmath.Exp(e, x[:n])
		for i, v := range x[:n] {
			if v >= 0 {
				to[i] = v + 1
			} else {
				// v − v is NaN for −Inf and 0 for every number.
				to[i] = e[i] + (v - v)
			}
		}
		x, phi = x[n:], phi[n:]
	}
}

func logELU[T dense.Float](phi, x []T) {
	phi = phi[:len(x)]
	for i, v := range x {
		if v >= 0 {
			phi[i] = T(math.Log1p(float64(v)))
		} else {
			phi[i] = v + (v - v)
		}
	}
}
