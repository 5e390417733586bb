package orf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// lengths returns the function that gives the length of the next frequency of R^d: a draw from
// χ(d), the law of the norm of a standard Gaussian vector, or always √d, its root mean square.
func lengths(fixed bool, src rand.Source) func(d int) float64 {
	if fixed {
		return func(d int) float64 { return math.Sqrt(float64(d)) }
	}
	return func(d int) float64 { return distuv.Chi{K: float64(d), Src: src}.Rand() }
}
