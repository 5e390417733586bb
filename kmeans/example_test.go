package kmeans_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

func ExampleCluster() {
	x := dense.Of(6, 1, []float64{0.5, 1, 1.5, 7.5, 8, 8.5})
	c, err := kmeans.Cluster(context.Background(), x, 2, kmeans.Options[float64]{MaxIterations: 25}, rand.NewPCG(1, 2))
	if err != nil {
		log.Fatal(err)
	}
	for i := range x.Rows {
		fmt.Printf("%.2f ", c.Centres.At(c.Labels[i], 0))
	}
	fmt.Printf("inertia %.2f\n", c.Inertia)
	// Output: 1.00 1.00 1.00 8.00 8.00 8.00 inertia 1.00
}

// Kernel k-means is k-means on features. Two circles with one centre are clusters of the features
// of a Gaussian kernel, and not of the points.
func Example_kernel() {
	rng := rand.New(rand.NewPCG(1, 2))
	x := dense.New[float64](1000, 2)
	for i := range x.Rows {
		angle, radius := 2*math.Pi*rng.Float64(), float64(1+2*(i%2))+0.1*rng.NormFloat64()
		x.Set(i, 0, radius*math.Cos(angle))
		x.Set(i, 1, radius*math.Sin(angle))
	}
	w, err := orf.Draw[float64](orf.GramSchmidt{}, 256, 2, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 1}, w)
	if err != nil {
		log.Fatal(err)
	}
	for _, z := range []dense.Matrix[float64]{x, phi.Transform(dense.Matrix[float64]{}, x)} {
		c, err := kmeans.Cluster(context.Background(), z, 2, kmeans.Options[float64]{MaxIterations: 100}, rand.NewPCG(5, 6))
		if err != nil {
			log.Fatal(err)
		}
		right := 0
		for i, label := range c.Labels {
			if (label == c.Labels[0]) == (i%2 == 0) {
				right++
			}
		}
		fmt.Printf("%d columns: %d of %d rows\n", z.Cols, max(right, x.Rows-right), x.Rows)
	}
	// Output:
	// 2 columns: 513 of 1000 rows
	// 512 columns: 1000 of 1000 rows
}
