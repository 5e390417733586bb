package conformance

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/validate"
)

// Kernel checks whether k keeps the contract of kernels.Kernel on n ≥ 2 points, the rows of x
// (n×d). Call Kernel with points x like the points of your application. Kernel checks that
//
//   - kernels.Check returns no error;
//   - values are finite and symmetric, and their matrix is positive semi-definite, by
//     validate.CheckKernel;
//   - Eval returns the same value for the same points, and does not change its arguments;
//   - goroutines may share k, NaN in an argument leads to NaN or ±Inf, and points of different
//     lengths panic;
//   - kernels.Gram has the values of Eval, up to 1e-9 of the largest value.
func Kernel(k kernels.Kernel, x dense.Matrix[float64]) error {
	var f faults
	x.Check()
	if x.Rows < 2 || x.Cols < 1 {
		return fmt.Errorf("conformance: x is %d×%d, want at least 2 points", x.Rows, x.Cols)
	}
	if k == nil {
		return fmt.Errorf("conformance: k is nil")
	}
	if err := kernels.Check(k); err != nil {
		return fmt.Errorf("conformance: %w", err)
	}
	pair := x.RowRange(0, 2).Clone()
	first := k.Eval(pair.Row(0), pair.Row(1))
	if !same(pair, x.RowRange(0, 2)) {
		return fmt.Errorf("conformance: Eval writes its arguments")
	}
	// Errors name points, but for Gram matrices that memory cannot hold or whose eigenvalues overflow.
	check, err := validate.CheckKernel(k, x)
	switch {
	case err != nil:
		f.add("%v", err)
	case check.Verdict == validate.Indefinite:
		f.add("not a kernel: the Gram matrix is %v", check)
	}
	if again := k.Eval(x.Row(0), x.Row(1)); again != first && (first == first || again == again) {
		f.add("Eval gives %v, then %v for the same points", first, again)
	}
	checkSharing(&f, "Eval", func(by int) dense.Matrix[float64] {
		values, y := dense.New[float64](1, x.Rows), rotated(x, by+1)
		for i := range x.Rows {
			values.Set(0, i, k.Eval(x.Row(i), y.Row(i)))
		}
		return values
	})
	compareGram(&f, k, x)
	for j := range x.Cols {
		bad := x.RowRange(0, 1).Clone()
		bad.Set(0, j, math.NaN())
		if v := k.Eval(bad.Row(0), x.Row(1)); !math.IsNaN(v) && !math.IsInf(v, 0) {
			f.add("Eval hides a NaN in coordinate %d: %v", j, v)
			break
		}
	}
	if !panics(func() { k.Eval(x.Row(0), append(x.RowRange(1, 2).Clone().Row(0), 0)) }) {
		f.add("Eval does not panic for points of different lengths")
	}
	return f.err()
}

func compareGram(f *faults, k kernels.Kernel, x dense.Matrix[float64]) {
	gram := kernels.Gram(dense.Matrix[float64]{}, k, x, dense.Matrix[float64]{})
	var largest float64
	for i := range x.Rows {
		largest = max(largest, math.Abs(k.Eval(x.Row(i), x.Row(i))))
	}
	for i := range x.Rows {
		for j := range x.Rows {
			if v := k.Eval(x.Row(i), x.Row(j)); !(math.Abs(gram.At(i, j)-v) <= 1e-9*largest) {
				f.add("Gram gives %v at points %d and %d, Eval %v", gram.At(i, j), i, j, v)
				return
			}
		}
	}
}
