// Command first estimates attention in linear time, and says how far off it is.
package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

func main() {
	const length, d, m, draws = 2000, 8, 1024, 20
	rng := rand.New(rand.NewPCG(1, 2))
	q, k := dense.New[float64](length, d), dense.New[float64](length, d)
	for i := range q.Data {
		q.Data[i], k.Data[i] = 0.8*rng.NormFloat64(), 0.8*rng.NormFloat64()
	}
	scale, v := 1/math.Sqrt(d), k // the values are the keys: which key is seen matters
	exact := performer.Exact[float64]{}.Forward(dense.Matrix[float64]{}, q, k, v)
	distance := func(out dense.Matrix[float64]) float64 {
		return floats.Distance(out.Data, exact.Data, 2) / floats.Norm(exact.Data, 2)
	}

	errs := make([]float64, draws)
	a, _ := rff.OptimalA(q, k, scale)
	for i := range errs {
		w, _ := orf.Draw[float64](orf.GramSchmidt{}, m, d, rng) // m orthogonal frequencies in R^d
		phi, _ := rff.SoftmaxOptimal(w, scale, a)               // E φ(q)ᵀφ(k) = exp(qᵀk/√d)
		linear, _ := performer.New(phi, performer.Options{})    // attention in O(length·m·d)
		errs[i] = distance(linear.Forward(dense.Matrix[float64]{}, q, k, v))
	}
	mean, spread := stat.MeanStdDev(errs, nil)
	fmt.Printf("relative error of the output: %.4f ± %.4f\n", mean, stat.StdErr(spread, draws))

	same := dense.New[float64](length, d) // queries of zero see all keys alike
	average := performer.Exact[float64]{}.Forward(dense.Matrix[float64]{}, same, k, v)
	fmt.Printf("relative error of the mean of the values: %.4f\n", distance(average))
}
