package landmarks_test

import (
	"context"
	"fmt"
	"log"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/landmarks"
)

// Ninety-nine points are equal and one is far from them: two landmarks are one of each.
func ExamplePivoted() {
	x := dense.New[float64](100, 1)
	x.Set(42, 0, 5)
	z, err := landmarks.Pivoted(context.Background(), kernels.Gaussian{}, x, 2, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(max(z.At(0, 0), z.At(1, 0)))
	// Output: 5
}
