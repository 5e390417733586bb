package kmeans_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kmeans"
)

func ExampleCluster() {
	x := dense.Of(6, 1, []float64{0.5, 1, 1.5, 7.5, 8, 8.5})
	c, err := kmeans.Cluster(context.Background(), x, 2, 25, kmeans.Options[float64]{}, rand.NewPCG(1, 2))
	if err != nil {
		log.Fatal(err)
	}
	for i := range x.Rows {
		fmt.Printf("%.2f ", c.Centres.At(c.Labels[i], 0))
	}
	fmt.Printf("inertia %.2f\n", c.Inertia)
	// Output: 1.00 1.00 1.00 8.00 8.00 8.00 inertia 1.00
}
