package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/product"
)

// scaleQueries turns the (log-)features of queries into weights of the sums
// and records in scales what they were divided by.
func (acc *accumulator[T]) scaleQueries(queries dense.Matrix[T], scales []scale) {
	if acc.ref != nil {
		acc.ref.scaleQueries(queries, scales)
	}
}

// attend writes Σ_f weight_if·S_f for each scaled query i into out.
func (acc *accumulator[T]) attend(out, queries dense.Matrix[T]) {
	product.Mul(1, queries, acc.sum, 0, out)
}
