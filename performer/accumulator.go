package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/product"
)

// accumulator is what linear attention keeps of the keys and values it has
// seen: S_f = Σ_j φ_jf·[v_j, 1], an m×width matrix. With log-features it holds
// Σ_j exp(ℓ_jf − N_f·ln 2)·[v_j, 1] and the reference exponents N_f.
type accumulator[T dense.Float] struct {
	ref *reference[T] // nil for features that are not logarithms
	sum dense.Matrix[T]
}

// accumulator takes an empty accumulator for values of dimension dv from the
// pool.
func (a *Attention[T]) accumulator(dv int) *accumulator[T] {
	acc, ok := a.accumulators.Get().(*accumulator[T])
	if !ok {
		acc = &accumulator[T]{}
		if a.logKey != nil {
			acc.ref = newReference[T](a.m)
		}
	}
	acc.reset(a.m, a.width(dv))
	return acc
}

// reset empties the accumulator and makes its sums m×width.
func (acc *accumulator[T]) reset(m, width int) {
	data := acc.sum.Data
	if cap(data) < m*width {
		data = make([]T, m*width)
	}
	acc.sum = dense.Of(m, width, data[:m*width])
	clear(acc.sum.Data)
	if acc.ref != nil {
		acc.ref.reset()
	}
}

// add takes in a block of keys, given by their (log-)features, which it
// overwrites, and their extended values.
func (acc *accumulator[T]) add(w *workspace[T], keys, values dense.Matrix[T]) {
	if acc.ref != nil {
		exponentsOf(w.exponents, w.peaks, keys)
		acc.rescale(w.exponents)
	}
	acc.scaleKeys(keys)
	acc.absorb(keys, values)
}

// scaleKeys turns the (log-)features of keys into factors of the sums.
func (acc *accumulator[T]) scaleKeys(keys dense.Matrix[T]) {
	if acc.ref != nil {
		acc.ref.scaleKeys(keys)
	}
}

// absorb adds the products of scaled keys and extended values to the sums.
func (acc *accumulator[T]) absorb(keys, values dense.Matrix[T]) {
	product.TMul(1, keys, values, 1, acc.sum)
}
