package orf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// IID returns m independent standard Gaussian frequencies in R^d: the baseline
// that the other constructions are measured against. With FixedLength every row
// is scaled to length √d, so that rows are independent and uniform on a sphere.
//
// Cost: m·d draws; Project is a matrix product, O(n·m·d). It returns an error
// if m < 1, d < 1, m or d is too large for memory, src is nil or an option other than
// FixedLength is given.
//
// Source: [Rahimi and Recht 2007].
func IID[T dense.Float](m, d int, src rand.Source, opts ...Option) (Projection[T], error) {
	s, err := configure("IID", m, d, src, opts, fixedLength)
	if err != nil {
		return nil, err
	}
	rng := rand.New(src)
	w, err := unrounded(m, d)
	if err != nil {
		return nil, err
	}
	for i := range m {
		row := w.Row(i)
		gaussian(row, rng)
		if !s.fixed {
			continue
		}
		norm := floats.Norm(row, 2)
		for norm == 0 { // a direction is needed, and d = 1 may well draw 0
			gaussian(row, rng)
			norm = floats.Norm(row, 2)
		}
		floats.Scale(math.Sqrt(float64(d))/norm, row)
	}
	return rounded[T](w, Ensemble{Kind: Independent, FixedLength: s.fixed, Order: 1}), nil
}

// gaussian fills x with standard normal draws.
func gaussian(x []float64, rng *rand.Rand) {
	for i := range x {
		x[i] = rng.NormFloat64()
	}
}
