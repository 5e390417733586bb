// Package vecmath applies elementary functions and a few simple ones to slices,
// for float32 and float64, with NaN and ±Inf as package math has them.
//
// Every function comes as pure Go, as AVX2, as AVX-512 and as NEON. The result of an element does
// not depend on the position of the element nor on the length of the slice. It may differ between
// tiers unless the comment of a function says that results are the same.
//
// # Accuracy
//
// The error of Exp and its relatives, Cos, Sincos and Log1p is below 2 units in
// the last place for every argument and in every tier: where results are
// subnormal, and also where the argument of Cos and Sincos is huge or next to a
// multiple of π/2. The largest errors over all numbers of float32 are 0.90 ulp for
// Exp, 1.82 for Cos, 1.58 for Sincos and 1.40 for Log1p.
//
// # Slices
//
// The first arguments are written. A function panics if a slice is shorter than needed, and ignores
// the end of a longer slice. A slice that is written may also be read, from the same element on;
// other overlaps give undefined elements. Nothing allocates memory.
package vecmath

// Float is the set of element types.
type Float interface{ float32 | float64 }

// first returns the first n elements of x and panics if there are fewer, whatever
// the capacity is.
func first[T Float](x []T, n int) []T { return x[:n:len(x)] }
