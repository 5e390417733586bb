// Package vecmath writes the arm64 kernels of package vecmath.
package vecmath

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// machine is a machine with the kernels as methods.
type machine struct{ arm64.Machine }

// Write writes all kernels.
func Write(f *arm64.File) {
	for _, general := range arm64.Machines(f) {
		m := machine{general}
		m.exponentials()
		m.cos()
		m.sincos()
		m.log1p(false)
		m.log1p(true)
		m.simple()
		m.peak()
		m.peakSum()
		m.sumOfProducts("sumOfSquares", "(x *T, n int) float64", "returns the sum of the squares of n elements")
		m.sumOfProducts("dot", "(x, y *T, n int) float64", "returns the sum of the products of n elements")
		m.outer()
		m.rows()
		m.pick()
	}
}

// of returns the value for the element type.
func of[V any](m machine, single, double V) V { return arm64.Of(m.Machine, single, double) }

// constants returns those for the element type.
func (m machine) constants(b minimax.Constants) []float64 { return of(m, b.Single, b.Double) }

// fraction is the number of bits of a significand without the first.
func (m machine) fraction() int { return of(m, 23, 52) }

// top is the number of the sign bit.
func (m machine) top() int { return 8*m.Size - 1 }

// signBit returns a vector with the sign bit in every element.
func (m machine) signBit() arm64.Vec { return m.Pattern(1 << m.top()) }

// values returns vectors of numbers.
func (m machine) values(v []float64) []arm64.Vec {
	all := make([]arm64.Vec, len(v))
	for i := range v {
		all[i] = m.Value(v[i])
	}
	return all
}

// polynomial returns c[0] + c[1]·x[i] + c[2]·x[i]² + …. Coefficients come from memory into the sums:
// loads take the place of moves.
func (m machine) polynomial(c []float64, x []arm64.Vec) []arm64.Vec {
	p := make([]arm64.Vec, len(x))
	top := len(c) - 1
	first := m.Value(c[top])
	for i := range p {
		p[i] = first
	}
	for j := top - 1; j >= 0; j-- {
		for i := range p {
			sum := m.Value(c[j])
			m.Plus(sum, p[i], x[i])
			p[i] = sum
		}
	}
	return p
}

// each returns the vectors that f makes of the numbers 0 … n−1.
func each(n int, f func(i int) arm64.Vec) []arm64.Vec {
	v := make([]arm64.Vec, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}
