package mse

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// Coordinates beyond the range of float64 become its largest number.
func mapped(p dense.Matrix[float64], x []float64) []float64 {
	if p.Cols != len(x) {
		panic(fmt.Sprintf("mse: a point of R^%d, want one of R^%d for a matrix %d×%d", len(x), p.Cols, p.Rows, p.Cols))
	}
	y := make([]float64, p.Rows)
	small, n := unit(x)
	for i := range y {
		y[i] = math.Ldexp(floats.Dot(p.Row(i), small), n)
		if math.IsInf(y[i], 0) && finite(x) {
			y[i] = math.Copysign(math.MaxFloat64, y[i])
		}
	}
	return y
}
