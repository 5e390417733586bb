// Package vecmath applies elementary functions and simple arithmetic to slices, for float32 and
// float64. NaN and ±Inf give the results of package math. Every function is implemented in pure Go,
// AVX2, AVX-512 and NEON. The result of an element does not depend on the position of the element
// nor on the length of the slice. It may differ between tiers unless the comment of a function says
// that results are the same.
//
// The errors of Exp and the other exponentials, of Sincos and LogELU are below 2 units in the last
// place (ulp) for every argument and in every tier: also for subnormal results, and for arguments
// of Sincos that are huge or near a multiple of π/2. The largest errors over all numbers of float32
// are 0.90 ulp for Exp, 1.58 for Sincos and 1.40 for LogELU.
//
// Functions write to their first arguments. A function panics if a slice is too short, and ignores
// the end of a longer slice. A slice that a function writes may be one that it reads, if both begin
// at the same element. Other overlaps give undefined elements. No function allocates memory.
package vecmath

import "github.com/seed-feabd252/randfeat/dense"

type Float = dense.Float

func first[T Float](x []T, n int) []T { return x[:n:len(x)] }
