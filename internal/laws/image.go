package laws

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// OfImages is the law of an estimate at (Px, Qy), for the matrices P = query and Q = key
// (d×d) and the law of the same estimate at (x, y). If PᵀQ = I the product xᵀy stays, and
// with it the softmax kernel: SADERF and ADERF [Likhosherstov et al. 2023] have the laws
// OfImages of OptimalIID and OptimalORF. It panics if points are not in R^d.
func OfImages(law Law, query, key dense.Matrix[float64]) Law {
	return func(x, y []float64, m int) float64 {
		return law(imageOf(query, x), imageOf(key, y), m)
	}
}

// imageOf returns Px. Coordinates beyond the range of float64 stay at its end, where
// exponentials are 0 or infinite all the same.
func imageOf(p dense.Matrix[float64], x []float64) []float64 {
	if p.Cols != len(x) {
		panic(fmt.Sprintf("laws: a point of R^%d, want one of R^%d for a matrix %d×%d", len(x), p.Cols, p.Rows, p.Cols))
	}
	image := make([]float64, p.Rows)
	small, n := unit(x)
	for i := range image {
		image[i] = math.Ldexp(floats.Dot(p.Row(i), small), n)
		if math.IsInf(image[i], 0) && finite(x) {
			image[i] = math.Copysign(math.MaxFloat64, image[i])
		}
	}
	return image
}
