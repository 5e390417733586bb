package performer_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// How far linear attention is from exact attention, from 64 rows.
func ExampleAudit() {
	const tokens, d = 2048, 16
	src := exprand.NewSource(1)
	rng := rand.New(src)
	q, k, v := small(rng, tokens, d, 0.5), small(rng, tokens, d, 0.5), small(rng, tokens, d, 1)
	for _, m := range []int{64, 1024} {
		w, err := orf.Draw[float64](orf.GramSchmidt{}, m, d, src)
		if err != nil {
			log.Fatal(err)
		}
		phi, err := rff.SoftmaxPositive(w, 0.25) // 1/√d
		if err != nil {
			log.Fatal(err)
		}
		a, err := performer.New(phi, performer.Options{})
		if err != nil {
			log.Fatal(err)
		}
		report, err := performer.Audit(a, performer.Exact[float64]{}, q, k, v, 64, performer.AuditOptions[float64]{}, src)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report)
	}
	// Output:
	// error 26 % (95 %: 23.6 … 30.3 %), 9 of 10 rows within 32 %, worst 59 % of 64 rows
	// error 9.22 % (95 %: 8.02 … 11.6 %), 9 of 10 rows within 13 %, worst 25 % of 64 rows
}
