package performer_test

import (
	"fmt"
	"log"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// Two heads of two queries over three keys, of which the last is new. A bias hides the first key
// from the first query.
func ExampleAttend() {
	zeros := func(l int) dense.Tensor[float64] { return dense.NewTensor[float64](1, 2, l, 4) }
	softmax, err := performer.NewExact[float64](performer.ExactOptions{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := performer.Attend(softmax, performer.AttendArgs[float64]{
		Q: zeros(2), K: zeros(1), V: dense.TensorOf(1, 2, 1, 1, []float64{9, 90}),
		PastK: zeros(2), PastV: dense.TensorOf(1, 2, 2, 1, []float64{3, 6, 30, 60}),
		Bias:   dense.TensorOf(1, 1, 2, 3, []float64{math.Inf(-1), 0, 0, 0, 0, 0}),
		Scores: performer.ScoresAfterSoftmax,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Out.Shape(), r.Out.Data)
	fmt.Println(r.V.Shape(), r.V.Data)
	fmt.Printf("%.2f\n", r.Scores.Row(0, 1, 0))
	// Output:
	// [1 2 2 1] [7.5 6 75 60]
	// [1 2 3 1] [3 6 9 30 60 90]
	// [0.00 0.50 0.50]
}
