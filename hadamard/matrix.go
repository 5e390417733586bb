package hadamard

import "github.com/seed-feabd252/randfeat/dense"

// Matrix returns the n×n Hadamard matrix H in Sylvester order, with entries ±1
// and H·Hᵀ = n·I, by the recursion
//
//	H₁ = [1],  H₂ₙ = [ Hₙ  Hₙ ]
//	                 [ Hₙ −Hₙ ]
//
// Cost: n² assignments. Transform multiplies by it without forming it. It
// panics unless n is a power of two.
//
// Source: [Sylvester 1867].
func Matrix[T dense.Float](n int) dense.Matrix[T] {
	checkOrder("order", n)
	m := dense.New[T](n, n)
	m.Set(0, 0, 1)
	for h := 1; h < n; h *= 2 {
		for i := range h {
			top, bottom := m.Row(i), m.Row(i+h)
			copy(top[h:2*h], top[:h])
			copy(bottom[:h], top[:h])
			for j, v := range top[:h] {
				bottom[h+j] = -v
			}
		}
	}
	return m
}
