// Package kernel is the vocabulary of kernels that are written once for both architectures.
//
// A vector is a V, and an address or an integer is a G. In the arithmetic of a Machine the result
// goes to the register into, or to a new register without into:
//
//	sum := m.Add(x, y)
//	m.Add(sum, z, sum)
//
// On amd64 the second operand of an operation may be in memory.
package kernel

import "math"

// Operation is an operation on two vectors. It returns the register of the result.
type Operation[V any] func(a, b V, into ...V) V

// Machine is an instruction set with an element type.
type Machine[V, G any] interface {
	// Lanes is the number of elements of a vector, Width its number of bytes, and Shift the binary
	// logarithm of the number of bytes of an element.
	Lanes() int
	Width() int
	Shift() int
	// Bits returns the bits of v rounded to an element.
	Bits(v float64) uint64

	// Begin starts a function. In its signature T stands for the element type.
	Begin(name, signature, doc string)
	// End returns from the function and ends it.
	End()
	// Argument returns a pointer or an integer among the arguments. Field f of argument s is s.f.
	Argument(name string) G
	// Number returns a vector with an element among the arguments in every lane.
	Number(name string) V

	Label(name string)
	Jump(label string)
	// CountDown decrements left, and jumps to the label if left is 0.
	CountDown(left G, label string)
	// Repeat decrements left, and jumps to the label unless left is 0.
	Repeat(label string, left G)
	// RepeatBy subtracts step from left, and jumps to the label unless left is 0, on amd64 also
	// unless left is negative.
	RepeatBy(label string, left G, step int)
	// CopyOf returns a register with the value of a.
	CopyOf(a G) G
	// InBytes multiplies a number of elements by the size of an element.
	InBytes(count G)
	// Advance adds a number of bytes to an address.
	Advance(p G, bytes int)
	// AdvanceBy adds a number of bytes in a register to an address.
	AdvanceBy(p, bytes G)

	// Vecs returns n new registers.
	Vecs(n int) []V
	Zero() V
	Move(v V, into ...V) V
	// Load returns the vector at p + offset bytes.
	Load(p G, offset int) V
	Store(v V, p G, offset int)

	// Arithmetic rounds each result once.
	Add(a, b V, into ...V) V
	Sub(a, b V, into ...V) V
	Mul(a, b V, into ...V) V
	Div(a, b V, into ...V) V
	// Min and Max return NaN if b is NaN. If only a is NaN, amd64 returns b and arm64 NaN.
	Min(a, b V, into ...V) V
	Max(a, b V, into ...V) V
	// AddMul returns into + a·b, and SubMul into − a·b. Both round once and need into.
	AddMul(a, b V, into ...V) V
	SubMul(a, b V, into ...V) V

	And(a, b V, into ...V) V
	Or(a, b V, into ...V) V
	Xor(a, b V, into ...V) V

	// AddInt, SubInt, Left and Right treat elements as integers.
	AddInt(a, b V, into ...V) V
	SubInt(a, b V, into ...V) V
	Left(v V, bits int, into ...V) V
	Right(v V, bits int, into ...V) V
}

// Of returns the value for the element type of a machine.
func Of[V any](m interface{ Shift() int }, single, double V) V {
	if m.Shift() == 2 {
		return single
	}
	return double
}

// Each applies an operation to operands, which are vectors and slices of vectors: once for each
// element of the shortest slice. A third operand is the result.
func Each[V any](f func(a, b V, into ...V) V, operands ...any) []V {
	n := math.MaxInt
	for _, o := range operands {
		if o, ok := o.([]V); ok {
			n = min(n, len(o))
		}
	}
	results := make([]V, n)
	for i := range results {
		var v []V
		for _, o := range operands {
			if all, ok := o.([]V); ok {
				v = append(v, all[i])
			} else {
				v = append(v, o.(V))
			}
		}
		results[i] = f(v[0], v[1], v[2:]...)
	}
	return results
}
