package performer_test

import (
	"fmt"
	"log"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// A decoder: a prompt at once, then token by token. The state of a second part,
// summarised elsewhere, arrives as bytes.
func ExampleState() {
	phi, err := rff.Draw[float64](rff.ELU{D: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := performer.NewLinear(phi, performer.LinearOptions{Causal: true})
	if err != nil {
		log.Fatal(err)
	}
	column := func(x ...float64) dense.Matrix[float64] { return dense.Of(len(x), 1, x) }
	state := func() *performer.State[float64] {
		s, err := a.NewState(1, 1)
		if err != nil {
			log.Fatal(err)
		}
		return s
	}
	var out dense.Matrix[float64]

	s := state()
	s.Append(column(0, 1), column(10, 20)) // keys and values; elu(x)+1 is 1 and 2
	out = s.Step(out, column(3), column(2), column(30))
	fmt.Printf("%d tokens: %.2f\n", s.Len(), out.At(0, 0)) // (1·10 + 2·20 + 3·30) / 6

	elsewhere := state()
	elsewhere.Append(column(3), column(40))
	data, err := elsewhere.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	part := state()
	if err := part.UnmarshalBinary(data); err != nil {
		log.Fatal(err)
	}
	if err := s.Merge(part); err != nil {
		log.Fatal(err)
	}
	out = s.Attend(out, column(3))
	fmt.Printf("%d tokens: %.2f\n", s.Len(), out.At(0, 0))
	// Output:
	// 3 tokens: 23.33
	// 4 tokens: 30.00
}
