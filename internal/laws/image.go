package laws

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// OfImages is the law of an estimate at (Px, Qy), for the matrices P = query and Q = key
// (d×d) and the law of the same estimate at (x, y). If PᵀQ = I the product xᵀy stays, and
// with it the softmax kernel: SADERF and ADERF [Likhosherstov et al. 2023] have the laws
// OfImages of SoftmaxOptimalIID and SoftmaxOptimalORF. It panics if points are not in R^d.
func OfImages(law func(x, y []float64, m int) float64, query, key dense.Matrix[float64]) func(x, y []float64, m int) float64 {
	return func(x, y []float64, m int) float64 {
		return law(imageOf(query, x), imageOf(key, y), m)
	}
}

// imageOf returns Px.
func imageOf(p dense.Matrix[float64], x []float64) []float64 {
	if p.Cols != len(x) {
		panic(fmt.Sprintf("laws: a point of R^%d, want one of R^%d for a matrix %d×%d", len(x), p.Cols, p.Rows, p.Cols))
	}
	image := make([]float64, p.Rows)
	for i := range image {
		image[i] = floats.Dot(p.Row(i), x)
	}
	return image
}
