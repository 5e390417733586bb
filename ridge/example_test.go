package ridge_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// wave returns n rows of a sine with noise 0.1.
func wave(n int, src rand.Source) (x, y dense.Matrix[float64]) {
	rng := rand.New(src)
	x, y = dense.New[float64](n, 1), dense.New[float64](n, 1)
	for i := range n {
		x.Set(i, 0, 6*rng.Float64())
		y.Set(i, 0, math.Sin(x.At(i, 0))+0.1*rng.NormFloat64())
	}
	return x, y
}

// A model with error bars from points and targets.
func Example() {
	src := rand.NewPCG(1, 2)
	x, y := wave(500, src) // 500×1 each
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w) // the length-scale 1
	if err != nil {
		log.Fatal(err)
	}
	m, err := ridge.Fit(context.Background(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	mean, sd := m.Predict(dense.Of(3, 1, []float64{1, 3, 9}))
	for i, at := range []float64{1, 3, 9} {
		fmt.Printf("sin %v = %.2f ± %.2f (%.2f)\n", at, mean.At(i, 0), sd.At(i, 0), math.Sin(at))
	}
	fmt.Printf("noise %.3f\n", math.Sqrt(m.Noise()[0]))
	// Output:
	// sin 1 = 0.85 ± 0.10 (0.84)
	// sin 3 = 0.13 ± 0.10 (0.14)
	// sin 9 = -0.04 ± 0.66 (0.41)
	// noise 0.102
}

// A model is kept in a file, with its map.
func ExampleModel_Write() {
	src := rand.NewPCG(1, 2)
	x, y := wave(500, src)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ridge.Fit(context.Background(), phi, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer // or what os.Create returns
	if err := m.Write(&file); err != nil {
		log.Fatal(err)
	}

	again, err := ridge.ReadModel[float64](&file)
	if err != nil {
		log.Fatal(err)
	}
	at := dense.Of(1, 1, []float64{1})
	before, sd := m.Predict(at)
	after, same := again.Predict(at)
	fmt.Println(again.Map(), before.At(0, 0) == after.At(0, 0), sd.At(0, 0) == same.At(0, 0))
	// Output: Gaussian(lengthScale=1): R^1 → R^128 true true
}

// Sums of parts of the rows, as of several machines, and the model of all.
func ExampleSums() {
	src := rand.NewPCG(1, 2)
	x, y := wave(500, src)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	all, err := ridge.NewSums(phi, 1)
	if err != nil {
		log.Fatal(err)
	}
	for lo := 0; lo < 500; lo += 100 {
		part, err := ridge.NewSums(phi, 1)
		if err != nil {
			log.Fatal(err)
		}
		if err := part.Add(x.RowRange(lo, lo+100), y.RowRange(lo, lo+100), nil); err != nil {
			log.Fatal(err)
		}
		if err := all.Merge(part); err != nil {
			log.Fatal(err)
		}
	}
	m, err := all.Fit(context.Background(), ridge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows, noise %.2f\n", all.Rows(), math.Sqrt(m.Noise()[0]))
	// Output: 500 rows, noise 0.10
}

// counted yields the blocks of rows and prints how many rows have been read.
type counted struct{ ridge.Rows[float64] }

func (c counted) Blocks() iter.Seq2[ridge.Block[float64], error] {
	return func(yield func(ridge.Block[float64], error) bool) {
		rows := 0
		for b, err := range c.Rows.Blocks() {
			if !yield(b, err) {
				return
			}
			rows += b.X.Rows
			fmt.Println(rows, "rows")
		}
	}
}

// The progress of a pass over rows, which Sum, Choose, automl.Fit and components.Fit read.
func ExampleRows() {
	src := rand.NewPCG(1, 2)
	x, y := wave(20_000, src)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 16, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ridge.Sum(context.Background(), phi, counted{ridge.Block[float64]{X: x, Y: y}}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 8160 rows
	// 16320 rows
	// 20000 rows
}

// A length-scale by the evidence.
//
//ci:slow
func ExampleChoose() {
	src := rand.NewPCG(1, 2)
	x, y := wave(500, src)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	usual, err := ridge.MedianDistance(x, src)
	if err != nil {
		log.Fatal(err)
	}
	scales := []float64{usual / 100, usual / 10, usual, 3 * usual}
	var maps []rff.Map[float64]
	for _, l := range scales {
		phi, err := rff.Draw(rff.Gaussian{LengthScale: l}, w)
		if err != nil {
			log.Fatal(err)
		}
		maps = append(maps, phi)
	}
	s, err := ridge.Choose(context.Background(), maps, ridge.Block[float64]{X: x, Y: y}, ridge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for i, trial := range s.Trials {
		fmt.Printf("length-scale %.3f: log evidence %.0f\n", scales[i], trial.Score)
	}
	fmt.Printf("best %.3f\n", scales[s.Best])
	// Output:
	// length-scale 0.018: log evidence 231
	// length-scale 0.176: log evidence 351
	// length-scale 1.762: log evidence 413
	// length-scale 5.287: log evidence 396
	// best 1.762
}

// Probabilities of two classes, which meet at 3.
func ExampleClassify() {
	src := rand.NewPCG(1, 2)
	x, y := wave(500, src)
	for i := range y.Rows {
		y.Set(i, 0, 0)
		if x.At(i, 0) > 3 {
			y.Set(i, 0, 1)
		}
	}
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	found, err := ridge.Classify(context.Background(), []rff.Map[float64]{phi}, ridge.Block[float64]{X: x, Y: y}, ridge.ClassifyOptions{Classes: 2})
	if err != nil {
		log.Fatal(err)
	}
	p := found.Classifier.Probabilities(dense.Matrix[float64]{}, dense.Of(3, 1, []float64{1, 3, 5}))
	fmt.Printf("%.2f %.2f %.2f\n", p.At(0, 1), p.At(1, 1), p.At(2, 1))
	// Output: 0.00 0.49 1.00
}

// Thompson sampling: a function is evaluated where a draw from the posterior is largest, so that
// evaluations crowd at the maximum, here at 0.7.
func ExampleModel_Pathwise() {
	src := rand.NewPCG(1, 2)
	rng := rand.New(src)
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 64, 1, src)
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 0.2}, w)
	if err != nil {
		log.Fatal(err)
	}
	grid := dense.New[float64](101, 1)
	for i := range grid.Rows {
		grid.Set(i, 0, float64(i)/100)
	}
	x, y := dense.New[float64](20, 1), dense.New[float64](20, 1)
	near := 0
	for n := range x.Rows {
		at := rng.Float64()
		if n >= 4 {
			px, py := x.RowRange(0, n), y.RowRange(0, n)
			m, err := ridge.Fit(context.Background(), phi, ridge.Block[float64]{X: px, Y: py}, ridge.Options{Noise: 1e-4, Prior: 1})
			if err != nil {
				log.Fatal(err)
			}
			draw, err := m.Pathwise(px, py, nil, 1, 0, src)
			if err != nil {
				log.Fatal(err)
			}
			at = grid.At(floats.MaxIdx(draw.Eval(dense.Matrix[float64]{}, grid).Data), 0)
			if math.Abs(at-0.7) < 0.05 {
				near++
			}
		}
		x.Set(n, 0, at)
		y.Set(n, 0, math.Exp(-10*(at-0.7)*(at-0.7))+0.01*rng.NormFloat64())
	}
	fmt.Println("most evaluations are near the maximum:", near > 8)
	// Output: most evaluations are near the maximum: true
}
