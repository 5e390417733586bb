package orf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// IID is the law of independent standard Gaussian frequencies [Rahimi and Recht 2007]. With
// FixedLength, IID frequencies of R^d are independent and uniform on the sphere of radius √d.
type IID struct {
	// FixedLength gives frequencies of R^d length √d, which biases estimates of Gaussian kernels.
	FixedLength bool
}

func (IID) ensemble() {}

// String returns "IID", or "IID(FixedLength)" if FixedLength is set.
func (e IID) String() string { return describe("IID", e.FixedLength, "", 0) }

func iid[T dense.Float](e IID, m, d int, src rand.Source) (Projection[T], error) {
	rng := rand.New(src)
	w, err := unrounded(m, d)
	if err != nil {
		return nil, err
	}
	for i := range m {
		row := w.Row(i)
		if e.FixedLength {
			direction(row, math.Sqrt(float64(d)), rng)
		} else {
			gaussian(row, rng)
		}
	}
	return rounded[T](w, e), nil
}

func gaussian(x []float64, rng *rand.Rand) {
	for i := range x {
		x[i] = rng.NormFloat64()
	}
}

// direction fills x with a uniform draw from the sphere of the given radius.
func direction(x []float64, radius float64, rng *rand.Rand) {
	norm := 0.0
	for norm == 0 { // in R¹ that may happen
		gaussian(x, rng)
		norm = floats.Norm(x, 2)
	}
	floats.Scale(radius/norm, x)
}
