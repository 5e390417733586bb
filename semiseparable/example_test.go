package semiseparable_test

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/semiseparable"
)

func ExampleMatrix_Solve() {
	m := semiseparable.Matrix[float64]{
		Diag: []float64{1, 2, 4},
		Q:    dense.Of(3, 1, []float64{9, 1, 3}),
		K:    dense.Of(3, 1, []float64{2, 1, 9}),
	}
	t := m.Dense(dense.Matrix[float64]{})
	for i := range t.Rows {
		fmt.Println(t.Row(i))
	}
	y, err := m.Solve(dense.Matrix[float64]{}, dense.Of(3, 1, []float64{1, 4, 17}))
	fmt.Println(y.Data, err)
	// Output:
	// [1 0 0]
	// [2 2 0]
	// [6 3 4]
	// [1 1 2] <nil>
}

func ExampleMatrix_Solve_singular() {
	m := semiseparable.Matrix[float32]{
		Diag: []float32{1, 0},
		Q:    dense.New[float32](2, 3),
		K:    dense.New[float32](2, 3),
	}
	_, err := m.Solve(dense.Matrix[float32]{}, dense.New[float32](2, 1))
	fmt.Println(err)
	// Output: semiseparable: diag[1] holds 0, want an element that is normal, and so is its
	// reciprocal
}

// An upper-triangular system is that of the transpose, with Q and K exchanged.
func ExampleMatrix_SolveTransposed() {
	q, k := dense.Of(2, 1, []float64{2, 9}), dense.Of(2, 1, []float64{9, 3})
	upper := semiseparable.Matrix[float64]{Q: k, K: q} // the transpose of [1 2·3; 0 1]
	y, err := upper.SolveTransposed(dense.Matrix[float64]{}, dense.Of(2, 1, []float64{13, 2}))
	fmt.Println(y.Data, err)
	// Output: [1 2] <nil>
}

func ExampleMatrix_Inverse() {
	m := semiseparable.Matrix[float64]{
		Q: dense.Of(3, 1, []float64{9, 1, 3}),
		K: dense.Of(3, 1, []float64{2, 1, 9}),
	}
	y, err := m.Inverse(dense.Matrix[float64]{})
	for i := range y.Rows {
		fmt.Println(y.Row(i))
	}
	fmt.Println(err)
	// Output:
	// [1 0 0]
	// [-2 1 0]
	// [0 -3 1]
	// <nil>
}
