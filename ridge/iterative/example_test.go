package iterative_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/iterative"
)

// waves returns n rows of a sine with noise 0.1, and 512 features of a Gaussian kernel.
func waves(n int) (rff.Map[float64], ridge.Block[float64]) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := ridge.Block[float64]{X: dense.New[float64](n, 1), Y: dense.New[float64](n, 1)}
	for i := range n {
		x := 6 * rng.Float64()
		b.X.Set(i, 0, x)
		b.Y.Set(i, 0, math.Sin(x)+0.1*rng.NormFloat64())
	}
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 256, 1, rand.NewPCG(5, 6))
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	return phi, b
}

// A model with error bars from samples. Rows may also be ridge.NPY or ridge.CSV.
func Example() {
	phi, rows := waves(2000)
	m, err := iterative.Fit[float64](context.Background(), phi, rows, iterative.Options{Samples: 15}, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	mean, sd := m.Predict(dense.Of(2, 1, []float64{1, 2}))
	for i, truth := range []float64{math.Sin(1), math.Sin(2)} {
		fmt.Printf("%.2f ± %.1f, truth %.2f\n", mean.At(i, 0), sd.At(i, 0), truth)
	}
	// Output:
	// 0.83 ± 0.1, truth 0.84
	// 0.92 ± 0.1, truth 0.91
}

// Run continues after it has stopped.
func ExampleSolver_Run() {
	phi, rows := waves(2000)
	s, err := iterative.New[float64](context.Background(), phi, rows, iterative.Options{Rank: 4}, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var late *iterative.NotConverged
	if err := s.Run(ctx, rows, iterative.RunOptions{MaxIterations: 3}); !errors.As(err, &late) {
		log.Fatal(err)
	}
	fmt.Println("steps:", late.Iterations)
	if err := s.Run(context.Background(), rows, iterative.RunOptions{}); err != nil {
		log.Fatal(err)
	}
	m, err := s.Model()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", m.Mean(dense.Matrix[float64]{}, dense.Of(1, 1, []float64{2})).At(0, 0))
	// Output:
	// steps: 3
	// 0.92
}
