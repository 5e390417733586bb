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

// A point that no other is like has a leverage score near 1, and each of the 99 others
// one near 1/99: it is among two landmarks.
func ExampleLeverage() {
	x := dense.New[float64](100, 1)
	x.Set(42, 0, 5)
	z, err := landmarks.Leverage(context.Background(), kernels.Gaussian{}, x, 2, 0.1, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(max(z.At(0, 0), z.At(1, 0)))
	// Output: 5
}
