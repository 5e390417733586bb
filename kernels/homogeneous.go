package kernels

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// Homogeneous is the kernel k(x, y) = ‖x‖‖y‖·K(x/‖x‖, y/‖y‖), and 0 where x or y is 0: K compares
// directions, and lengths are weights [Mairal et al. 2014]: a patch of an image weighs as much as
// its contrast. It is positive semi-definite if K is: φ(x) = ‖x‖·φ_K(x/‖x‖).
//
// Gram divides first, in float64, and takes the Gram matrix of K on unit vectors.
type Homogeneous struct{ K Kernel }

// Eval returns ‖x‖‖y‖·K(x/‖x‖, y/‖y‖). It panics if K is nil, and if K panics.
func (k Homogeneous) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	u, v := make([]float64, len(x)), make([]float64, len(y))
	r := normalise(u, x) * normalise(v, y)
	if r == 0 {
		return 0
	}
	return r * k.K.Eval(u, v)
}

// normalise writes x/‖x‖ into dst, or x itself if x = 0, and returns ‖x‖. dst and ‖x‖ are NaN if x
// has NaN or ±Inf.
func normalise(dst, x []float64) float64 {
	copy(dst, x)
	r := floats.Norm(x, 2)
	switch {
	case math.IsNaN(r) || math.IsInf(r, 1):
		for i := range dst {
			dst[i] = math.NaN()
		}
		return math.NaN()
	case r > 0:
		// The inverse of a subnormal number overflows.
		for i := range dst {
			dst[i] /= r
		}
	}
	return r
}

func (k Homogeneous) check() error {
	if k.K == nil {
		return fmt.Errorf("kernels: Homogeneous.K is nil")
	}
	return nil
}

// String returns the kernel as it is written in Go.
func (k Homogeneous) String() string { return fmt.Sprintf("Homogeneous{K: %v}", k.K) }

func (k Homogeneous) gram(dst, x, y dense.Matrix[float64], one bool) {
	u, rx := directions(x)
	v, ry := dense.Matrix[float64]{}, rx
	if !one {
		v, ry = directions(y)
	}
	Gram(dst, k.K, u, v)
	for i, r := range rx {
		row := dst.Row(i)
		for j, s := range ry {
			// K may have any value at 0. If K is NaN because of x or y, r·s is NaN, not 0.
			if r*s == 0 {
				row[j] = 0
			} else {
				row[j] *= r * s
			}
		}
	}
}

// directions returns the rows of x divided by their lengths, and the lengths.
func directions(x dense.Matrix[float64]) (dense.Matrix[float64], []float64) {
	u, lengths := dense.New[float64](x.Rows, x.Cols), make([]float64, x.Rows)
	parallel.Rows(x.Rows, gramRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			lengths[i] = normalise(u.Row(i), x.Row(i))
		}
	})
	return u, lengths
}
