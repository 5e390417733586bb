package hadamard

import "github.com/seed-feabd252/randfeat/dense"

// Matrix returns the n×n Hadamard matrix H that Transform multiplies by, with elements ±1 and H·Hᵀ
// = n·I. For n = 2^k, Matrix returns Sylvester's matrix H_2^k, whose rows are the Walsh functions
// in natural order [Sylvester 1867]. For an n = h·2^k that is no power of two, Matrix returns the
// Kronecker product C ⊗ H_2^k with Paley's matrix C of order h, of the second construction or, if h
// has none, of the first, which is not symmetric [Paley 1933]. Matrix panics if package hadamard
// has no Hadamard matrix of order n, or n² elements are too many for memory.
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
