package kernelridge

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// checkRange returns an error if squares of targets y, predictions in T, or products of weights may
// leave the range of numbers. Row i of y is row at[i] of the caller's rows.
func checkRange[T dense.Float](y dense.Matrix[float64], weight func(i int) float64, at []int) error {
	const least, extreme = 1e-70, 1e100
	most := 1e150
	if simd.Size[T]() == 4 {
		most = 1e37
	}
	for _, i := range at {
		if w := weight(i); w < 1/extreme || w > extreme {
			return fmt.Errorf("kernelridge: weights[%d] = %v, want 0 or a number from %v to %v", i, w, 1/extreme, extreme)
		}
	}
	largest := make([]float64, y.Cols)
	for i := range y.Rows {
		for j, v := range y.Row(i) {
			if largest[j] = max(largest[j], math.Abs(v)); !(math.Abs(v) <= most) {
				return fmt.Errorf("kernelridge: y[%d][%d] = %v, want at most %v in absolute value: scale the targets", at[i], j, v, most)
			}
		}
	}
	for j, v := range largest {
		if v > 0 && v < least {
			return fmt.Errorf("kernelridge: column %d of y has absolute values up to %v, want 0 or at least %v: scale the targets", j, v, least)
		}
	}
	return nil
}

// checkCoordinates returns an error if float32 cannot represent rows in the space of the kernel.
func checkCoordinates(x dense.Matrix[float64], at []int) error {
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if !(math.Abs(v) <= math.MaxFloat32) {
				return fmt.Errorf("kernelridge: coordinate %d of x[%d] is %v for k, want at most %.3v in absolute value: scale the rows", j, at[i], v, math.MaxFloat32)
			}
		}
	}
	return nil
}
