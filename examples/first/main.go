// Command first computes attention to a tolerance, in a fraction of the time of exact attention.
package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

func main() {
	const length, d = 8192, 8
	rng := rand.New(rand.NewPCG(1, 2))
	q, k := dense.New[float64](length, d), dense.New[float64](length, d)
	for i := range q.Data {
		q.Data[i], k.Data[i] = 0.8*rng.NormFloat64(), 0.8*rng.NormFloat64()
	}
	v := k // the values are the keys: which key is seen matters

	exact := performer.Exact[float64]{} // softmax(QKᵀ/√d)·V
	c, err := performer.Within(exact, 0.05, q, k, v, performer.WithinOptions[float64]{Calls: 100}, rng)
	if err != nil {
		panic(err)
	}
	out := c.Form.Forward(dense.Matrix[float64]{}, q, k, v)
	fmt.Printf("attention of %d tokens by %s\n%v\n", out.Rows, c.Name, c.Audited)
}
