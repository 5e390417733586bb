package orf_test

import (
	"fmt"
	"math"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
)

// Independent frequencies estimate x·y = 0 with an error; with fixed lengths, a
// full orthogonal block has none.
func Example() {
	const d = 8
	x := dense.New[float64](2, d)
	x.Set(0, 0, 1)
	x.Set(1, 1, 1)
	iid, err := orf.Draw[float64](orf.IID{}, d, d, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	block, err := orf.Draw[float64](orf.GramSchmidt{FixedLength: true}, d, d, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range []orf.Projection[float64]{iid, block} {
		y := w.Project(dense.Matrix[float64]{}, x)
		fmt.Println(math.Abs(dot(y.Row(0), y.Row(1))/d) < 1e-12)
	}
	// Output:
	// false
	// true
}

// The rows of a block are orthogonal; the fourth row starts another block.
func ExampleGramSchmidt() {
	p, err := orf.Draw[float64](orf.GramSchmidt{}, 4, 3, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	w := p.Frequencies()
	for k := 1; k < 4; k++ {
		cos := dot(w.Row(0), w.Row(k)) / math.Sqrt(dot(w.Row(0), w.Row(0))*dot(w.Row(k), w.Row(k)))
		fmt.Println(math.Abs(cos) < 1e-12)
	}
	// Output:
	// true
	// true
	// false
}

// A million frequencies of R^1000 would take 8 GB as a matrix; as signs, row
// numbers and lengths they take 40 MB.
func ExampleHadamard() {
	const m, d = 1 << 20, 1000
	w, err := orf.Draw[float64](orf.Hadamard{}, m, d, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := dense.New[float64](1, d)
	x.Set(0, 0, 0.5)
	y := w.Project(dense.Matrix[float64]{}, x)
	mean := 0.0
	for _, v := range y.Row(0) {
		mean += math.Cos(v) / m
	}
	fmt.Printf("%.2f, exactly %.2f\n", mean, math.Exp(-0.125))
	// Output: 0.88, exactly 0.88
}

// 256 points of the plane estimate exp(−1/2) better than independent ones do.
func ExampleHalton() {
	x := dense.Of(1, 2, []float64{0.6, 0.8})
	for _, e := range []orf.Ensemble{orf.Halton{}, orf.IID{}} {
		w, err := orf.Draw[float64](e, 256, 2, exprand.NewSource(1))
		if err != nil {
			fmt.Println(err)
			return
		}
		mean := 0.0
		for _, v := range w.Project(dense.Matrix[float64]{}, x).Row(0) {
			mean += math.Cos(v) / 256
		}
		fmt.Printf("%+.4f\n", mean-math.Exp(-0.5))
	}
	// Output:
	// -0.0006
	// -0.0310
}

// A projection knows the law of its frequencies, with the defaults.
func ExampleDraw() {
	w, err := orf.Draw[float64](orf.Hadamard{}, 20, 9, exprand.NewSource(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.(interface{ Ensemble() orf.Ensemble }).Ensemble())
	// Output: Hadamard(Factors=3)
}
