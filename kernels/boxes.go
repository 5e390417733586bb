package kernels

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// Boxes is the kernel (κ + κ² + κ³)/3 for the share κ of thresholds that do not separate x and y:
//
//	κ = 1 − Σ_jb w_jb·[t_jb is between x_j and y_j] / Σ_jb w_jb.
//
// In the formula of Boxes, coordinate j has the thresholds t_jb with the weights w_jb; a threshold
// t is between a and b if a ≤ t < b or b ≤ t < a. Functions in the reproducing kernel Hilbert space
// of Boxes are sums of step functions of up to three coordinates, as decision trees are. Boxes is
// positive semi-definite on R^d, with values in [0, 1] and k(x, x) = 1.
type Boxes struct {
	// Thresholds (d×B, at least 1×1) has the B thresholds of coordinate j of x ∈ R^d in row j, in
	// ascending order and in units of x.
	Thresholds dense.Matrix[float64]

	// Weights has a weight of at least 0 for each number in Thresholds, with a sum above 0.
	Weights dense.Matrix[float64]
}

// Eval returns the Boxes kernel in O(d·B) time for Thresholds of d×B.
func (k Boxes) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	p := k.places(dense.Of(2, len(x), slices.Concat(x, y)))
	return ofPlaces(p.Row(0), p.Row(1))
}

func (k Boxes) check() error {
	t, w := k.Thresholds, k.Weights
	if t.Rows < 1 || t.Cols < 1 || w.Rows != t.Rows || w.Cols != t.Cols {
		return fmt.Errorf("kernels: Boxes.Thresholds is %d×%d and Weights %d×%d, want the same shape, at least 1×1", t.Rows, t.Cols, w.Rows, w.Cols)
	}
	if err := errors.Join(t.Validate(), w.Validate()); err != nil {
		return fmt.Errorf("kernels: Boxes: %w", err)
	}
	total := 0.0
	for j := range t.Rows {
		if err := allFinite(fmt.Sprintf("Boxes.Thresholds[%d]", j), t.Row(j)); err != nil {
			return err
		}
		if !slices.IsSorted(t.Row(j)) {
			return fmt.Errorf("kernels: Boxes.Thresholds[%d] are not in ascending order", j)
		}
		for b, v := range w.Row(j) {
			if !(v >= 0) {
				return fmt.Errorf("kernels: Boxes.Weights[%d][%d] = %v, want a number from 0 on", j, b, v)
			}
			total += v
		}
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return fmt.Errorf("kernels: Boxes.Weights have the sum %v, want a positive number", total)
	}
	return nil
}

// places returns Σ_b w_jb·[t_jb < x_ij] / Σw, or NaN if x_ij is not finite.
func (k Boxes) places(x dense.Matrix[float64]) dense.Matrix[float64] {
	if x.Cols != k.Thresholds.Rows {
		panic(fmt.Sprintf("kernels: points are of R^%d, Boxes.Thresholds is %d×%d", x.Cols, k.Thresholds.Rows, k.Thresholds.Cols))
	}
	total := 0.0
	for j := range k.Weights.Rows {
		total += floats.Sum(k.Weights.Row(j))
	}
	p, below := dense.New[float64](x.Rows, x.Cols), make([]float64, k.Weights.Cols+1)
	for j := range x.Cols {
		floats.CumSum(below[1:], k.Weights.Row(j))
		for i := range x.Rows {
			b, _ := slices.BinarySearch(k.Thresholds.Row(j), x.At(i, j))
			p.Set(i, j, below[b]/total+(x.At(i, j)-x.At(i, j)))
		}
	}
	return p
}

func ofPlaces(p, q []float64) float64 {
	same := max(0, 1-floats.Distance(p, q, 1))
	return (same + same*same + same*same*same) / 3
}

func gramOfPlaces[T dense.Float](dst dense.Matrix[T], p, q dense.Matrix[float64]) dense.Matrix[T] {
	parallel.Rows(p.Rows, gramRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := dst.Row(i)
			for j := range row {
				row[j] = T(ofPlaces(p.Row(i), q.Row(j)))
			}
		}
	})
	return dst
}

// String returns the name Boxes with the shape of the matrix Thresholds.
func (k Boxes) String() string {
	return fmt.Sprintf("Boxes{Thresholds: %d×%d}", k.Thresholds.Rows, k.Thresholds.Cols)
}
