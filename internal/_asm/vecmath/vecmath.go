// Package vecmath writes the kernels of package vecmath. Most kernels are written once, for a
// machine of either architecture. Files that begin with avx and neon hold the rest.
package vecmath

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/_asm/kernel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// machine returns operands that may be in memory unless a method says register.
type machine[V, G any] interface {
	kernel.Machine[V, G]
	// Value returns an operand with v, rounded, in every element, and Pattern one with bits.
	Value(v float64) V
	Pattern(bits uint64) V
	register(v float64) V
	// inRegister returns an operand in a register, which the caller must not change.
	inRegister(v V) V
	// polynomial returns a function for new registers of c[0] + c[1]·x[i] + c[2]·x[i]² + …. With
	// held, a machine with many registers holds c in registers.
	polynomial(c []float64, held bool) func(x []V) []V
	// fused returns a·b + c, in the register of a or of c. Both lose their values.
	fused(a, b, c V) V
	// kept returns an operand of fused in place of c, so that c keeps its value.
	kept(c V) V
	sqrt(v, into V)
	// scale returns the instruction for a·2^b with integers b, or nil.
	scale() kernel.Operation[V]

	// Comparisons return a mask of the elements for which they hold. They do not hold for NaN.
	equal(a, b V) V
	atLeast(a, b V) V
	greater(a, b V) V
	below(a, b V) V
	// both returns the intersection of two masks, in either register.
	both(a, b V) V
	// signs returns a mask of the elements whose sign bit is set.
	signs(v V) V
	// choose sets into = from where the mask is set.
	choose(mask, from, into V)

	// hasShorter reports whether a machine with shorter vectors has the kernels that it runs as
	// fast.
	hasShorter() bool
	// unroll returns how many vectors the body of a loop takes: k if the registers allow.
	unroll(k int) int
	// loop writes body for blocks of k vectors, for single vectors, and for the elements that are
	// left. Together the blocks go through n elements. loop returns a place for end and found.
	loop(label string, n G, k int, body func(b position[V, G])) (place G)
	// again returns an address that a later loop can use after a loop has used p.
	again(p G) G
	// weighted writes a loop over the rows of x, with row i at x + i·stride. weight returns a
	// vector with element i of a slice in every lane. slices are all slices of weights.
	weighted(columns position[V, G], x G, rows *walk[G], slices []G, body func(row G, weight func(slice G) V))

	// abs returns a function that sets into = |x|, and jumps to the label stop unless all are below
	// the limit, a power of 2.
	abs(limit float64) func(x, into []V)
	// end ends a function that returns a number of elements: n or, after a jump to the label stop,
	// the number of elements before the place.
	end(n, place G)

	returnLargest(v V)
	// returnPlace ends a function that returns the index of the first element, of n, whose sum is
	// the largest of acc, or −1 if that is −Inf.
	returnPlace(acc, minusInf V, n G, sums func(b position[V, G]) []V)

	sumOfProducts(name, signature, doc string)
	pick()
}

// position is a position in slices: some adjacent vectors, or elements for less than a vector.
type position[V, G any] interface {
	// load returns new registers with the vectors of a slice at the position.
	load(p G) []V
	// loadOr is load with another vector in lanes behind the slice.
	loadOr(p G, other V) []V
	store(v []V, p G)
	// row returns a copy of the address of a matrix, which the caller moves from row to row.
	row(p G) G
}

// walk is a walk down the rows of a matrix: stride is in bytes, n is the number of columns.
type walk[G any] struct {
	stride, rows, n G
	loops           int
}

func (w *walk[G]) label() string {
	w.loops++
	return fmt.Sprintf("rows%d", w.loops-1)
}

type writer[V, G any] struct{ machine[V, G] }

func write[V, G any](m machine[V, G]) {
	k := writer[V, G]{m}
	k.exponentials()
	k.sincos()
	k.logELU()
	k.linear()
	if !m.hasShorter() || m.Shift() == 3 {
		const doc = ", from 32 partial sums as the reference has them."
		k.sumOfProducts("sumOfSquares", "(x *T, n int) float64", "returns the sum of the squares of n elements"+doc)
		k.sumOfProducts("dot", "(x, y *T, n int) float64", "returns the sum of the products of n elements"+doc)
	}
	k.bySign()
	k.peak()
	k.peakSum()
	k.outer()
	k.rows()
	k.pick()
}

func (m writer[V, G]) of(single, double float64) float64 { return kernel.Of(m, single, double) }

func (m writer[V, G]) constants(b minimax.Constants) []float64 {
	return kernel.Of(m, b.Single, b.Double)
}

// fraction is the number of bits of a significand without the first.
func (m writer[V, G]) fraction() int { return kernel.Of(m, 23, 52) }

// top is the number of the sign bit.
func (m writer[V, G]) top() int { return kernel.Of(m, 31, 63) }

func (m writer[V, G]) signBit() V { return m.Pattern(1 << m.top()) }

func (m writer[V, G]) values(v []float64) []V {
	all := make([]V, len(v))
	for i := range v {
		all[i] = m.Value(v[i])
	}
	return all
}
