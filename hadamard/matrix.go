package hadamard

import "github.com/seed-feabd252/randfeat/dense"

// Matrix returns the n×n Hadamard matrix H that Transform multiplies by, with
// entries ±1 and H·Hᵀ = n·I. For n = 2^k it is in Sylvester order,
//
//	H₁ = [1],  H₂ₙ = [ Hₙ  Hₙ ]
//	                 [ Hₙ −Hₙ ]
//
// and for n = h·2^k it is C ⊗ H_2^k with C the matrix of order h that Paley's second construction
// gives or, where that gives none, his first. h is the smallest possible (see NextOrder). H is
// symmetric except in the first construction.
//
// Cost: n² assignments. It panics unless n is such an order, and as dense.New does
// if n² elements are too many.
//
// Sources: [Sylvester 1867], [Paley 1933].
func Matrix[T dense.Float](n int) dense.Matrix[T] {
	p := planOf("order", n)
	m := dense.New[T](n, n)
	m.Set(0, 0, 1)
	for h := 1; h < p.width; h *= 2 {
		for i := range h {
			top, bottom := m.Row(i), m.Row(i+h)
			copy(top[h:2*h], top[:h])
			copy(bottom[:h], top[:h])
			for j, v := range top[:h] {
				bottom[h+j] = -v
			}
		}
	}
	if p.rows > 1 {
		spread(m, p)
	}
	return m
}

// spread writes the product of the core and the block in the upper left corner.
func spread[T dense.Float](m dense.Matrix[T], p plan) {
	signs := constructions()[p.rows/4].signs()
	block := m.RowRange(0, p.width).ColRange(0, p.width).Clone()
	for i := range m.Rows {
		row := m.Row(i)
		for b := range p.rows {
			sign := T(signs[i/p.width*p.rows+b])
			to := row[b*p.width:][:p.width]
			for j, v := range block.Row(i % p.width) {
				to[j] = sign * v
			}
		}
	}
}
