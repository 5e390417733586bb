package recurrence_test

import (
	"fmt"
	"log"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

// A value is replaced: the linear rule answers with the sum of both, the delta rule with
// the last one.
func ExampleRecurrence() {
	keys := dense.Of(3, 2, []float64{1, 0, 0, 1, 1, 0})
	values := dense.Of(3, 1, []float64{10, 20, 30})
	beta := dense.Of(3, 1, []float64{1, 1, 1})

	for _, rule := range []recurrence.Rule{recurrence.Linear, recurrence.Delta} {
		r, err := recurrence.New[float64](recurrence.Options{Heads: 1, Rule: rule, Scale: 1})
		if err != nil {
			log.Fatal(err)
		}
		x := recurrence.Tokens[float64]{Q: keys, K: keys, V: values}
		if rule == recurrence.Delta {
			x.Beta = beta
		}
		sums := dense.New[float64](2, 1)
		out := r.Forward(dense.Matrix[float64]{}, x, dense.Matrix[float64]{}, sums)
		fmt.Println(rule, out.Data, sums.Data)
	}
	// Output:
	// linear [10 20 40] [40 20]
	// delta [10 20 30] [30 20]
}

// A prompt at once, then token by token, with a decay that halves what is there.
func ExampleState() {
	r, err := recurrence.New[float64](recurrence.Options{Heads: 1, Rule: recurrence.Gated, Scale: 1})
	if err != nil {
		log.Fatal(err)
	}
	s, err := r.NewState(1, 1)
	if err != nil {
		log.Fatal(err)
	}
	const half = -0.69314718056
	column := func(x ...float64) dense.Matrix[float64] { return dense.Of(len(x), 1, x) }
	s.Append(recurrence.Tokens[float64]{K: column(1, 1), V: column(8, 4), Decay: column(half, half)})
	fmt.Printf("%d tokens: %.3f\n", s.Len(), s.Attend(dense.Matrix[float64]{}, column(1)).At(0, 0))
	out := s.Step(dense.Matrix[float64]{}, recurrence.Tokens[float64]{Q: column(1), K: column(1), V: column(2), Decay: column(half)})
	fmt.Printf("%d tokens: %.3f\n", s.Len(), out.At(0, 0))
	// Output:
	// 2 tokens: 8.000
	// 3 tokens: 6.000
}
